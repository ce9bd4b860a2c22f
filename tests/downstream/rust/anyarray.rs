// SPDX-License-Identifier: Apache-2.0
//! anyarray's function table for Rust: what include/anyarray/c.h says, in #[repr(C)]. The layouts are those of
//! docs/abi.md; the tests hold these declarations to the same record as the headers.
#![allow(dead_code)]
use std::ffi::{c_char, c_void};

pub type Status = i32;
pub const OK: Status = 0;

pub type TypeCode = u8;
pub const INT: TypeCode = 0;
pub const FLOAT: TypeCode = 2;

pub type DeviceType = i32;
pub const ANY: DeviceType = 0;
pub const CPU: DeviceType = 1;

/// `layout` of a request: strides are whole elements, and the address is aligned.
pub const LAYOUT_ELEMENTS: u32 = 1;

#[repr(C)]
pub struct PyObject {
    _opaque: [u8; 0],
}
#[repr(C)]
pub struct Policy {
    _opaque: [u8; 0],
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DType {
    pub code: TypeCode,
    pub attributes: u8,
    pub bits: u16,
    pub count: u32,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Device {
    pub r#type: DeviceType,
    pub id: i32,
}

#[repr(C)]
pub struct Descriptor {
    pub data: *mut c_void,
    pub shape: *const i64,
    pub strides: *const i64,
    pub dtype: DType,
    pub device: Device,
    pub ndim: i32,
    pub flags: u32,
}

/// Must not move while it holds something: its descriptor points into it.
#[repr(C)]
pub struct Borrow {
    pub desc: Descriptor,
    pub release_fn: Option<unsafe extern "C" fn(*mut Borrow)>,
    pub owner: *mut c_void,
    pub context: *mut c_void,
    pub protocol: u8,
    pub heap_dims: u8,
    pub checked: u8,
    pub reserved: [u8; 5],
    pub token: [*mut c_void; 10],
    pub dims: [i64; 16],
}

#[repr(C)]
pub struct Holder {
    pub borrow: Borrow,
    pub references: i64,
}

#[repr(C)]
pub struct Request {
    pub policy: *const Policy,
    pub device: Device,
    pub has_dtype: bool,
    pub writable: bool,
    pub order: u8,
    pub ndim: i8,
    pub allow: u32,
    pub dtype: DType,
    pub layout: u32,
    pub n_dtypes: u32,
    pub dtypes: *const DType,
    pub reserved: [usize; 2],
}

impl Request {
    /// Asks for nothing.
    pub fn any() -> Request {
        Request {
            policy: std::ptr::null(),
            device: Device { r#type: ANY, id: -1 },
            has_dtype: false,
            writable: false,
            order: 0,
            ndim: -1,
            allow: 0,
            dtype: DType { code: INT, attributes: 0, bits: 0, count: 0 },
            layout: 0,
            n_dtypes: 0,
            dtypes: std::ptr::null(),
            reserved: [0; 2],
        }
    }
}

/// A sentence, terminated by NUL.
#[repr(C)]
pub struct Reason {
    pub text: [c_char; 240],
}

type Release = Option<unsafe extern "C" fn(*mut c_void)>;

#[repr(C)]
pub struct CApi {
    pub size: u32,
    pub major: u32,
    pub minor: u32,
    pub reserved: u32,
    pub context: *mut c_void,
    pub borrow: unsafe extern "C" fn(*mut c_void, *mut PyObject, *const Request, *mut Borrow) -> Status,
    pub borrow_or_raise: unsafe extern "C" fn(*mut c_void, *mut PyObject, *const Request, *mut Borrow) -> Status,
    pub release: unsafe extern "C" fn(*mut c_void, *mut Borrow),
    pub to_array: unsafe extern "C" fn(*mut c_void, *mut Borrow) -> *mut PyObject,
    pub explain: unsafe extern "C" fn(*mut c_void, *mut PyObject, *const Request) -> *mut PyObject,
    pub status_text: unsafe extern "C" fn(*mut c_void, Status) -> *const c_char,
    pub preset: unsafe extern "C" fn(*mut c_void, *const c_char) -> *const Policy,
    pub produce: unsafe extern "C" fn(*mut c_void, *const Descriptor, *mut PyObject, Release, *mut c_void) -> *mut PyObject,
    pub take: unsafe extern "C" fn(*mut c_void, *mut PyObject, *const Request) -> *mut Holder,
    pub drop: unsafe extern "C" fn(*mut c_void, *mut Holder),
    pub convert: unsafe extern "C" fn(*mut c_void, *mut PyObject, *mut PyObject) -> *mut PyObject,
    pub convert_like: unsafe extern "C" fn(*mut c_void, *mut PyObject, *mut PyObject) -> *mut PyObject,
    pub copy:
        unsafe extern "C" fn(*mut c_void, *const Descriptor, *const Request, *mut Borrow, *mut Reason) -> Status,
}
