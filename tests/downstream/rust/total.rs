// SPDX-License-Identifier: Apache-2.0
//! Takes any array in Rust, through the capsule. Called with the GIL; errors are Python's.
mod anyarray;
use anyarray::*;
use std::ffi::{c_char, c_int, c_void, CString};
use std::mem::MaybeUninit;
use std::ptr;

extern "C" {
    static PyExc_ImportError: *mut PyObject;
    fn PyCapsule_Import(name: *const c_char, no_block: c_int) -> *const c_void;
    fn PyErr_SetString(kind: *mut PyObject, text: *const c_char);
    fn PyFloat_FromDouble(value: f64) -> *mut PyObject;
}

/// The table, if it has the rows up to this minor; otherwise null, and the exception is set.
unsafe fn import(minor: u32) -> *const CApi {
    let api = PyCapsule_Import(c"anyarray._core._C_API".as_ptr(), 0) as *const CApi;
    if api.is_null() || ((*api).major == 0 && (*api).minor >= minor) {
        return api;
    }
    let text = format!(
        "this extension was built for anyarray's C API 0.{minor}, the installed anyarray has {}.{}: {}",
        (*api).major,
        (*api).minor,
        if (*api).major > 0 { "rebuild the extension" } else { "upgrade the package anyarray" }
    );
    PyErr_SetString(PyExc_ImportError, CString::new(text).unwrap().as_ptr());
    ptr::null()
}

unsafe fn sum(data: *const c_void, shape: &[i64], strides: &[i64]) -> f64 {
    match shape.first() {
        None => *(data as *const f64),
        Some(&n) => (0..n)
            .map(|i| sum(data.byte_offset((i * strides[0]) as isize), &shape[1..], &strides[1..]))
            .sum(),
    }
}

/// The sum of a float64 array of any library and any shape.
#[no_mangle]
pub unsafe extern "C" fn total(x: *mut PyObject) -> *mut PyObject {
    let api = import(0);
    if api.is_null() {
        return ptr::null_mut();
    }
    let api = &*api;
    let mut wanted = Request::any();
    wanted.device.r#type = CPU;
    wanted.has_dtype = true;
    wanted.dtype = DType { code: FLOAT, attributes: 0, bits: 64, count: 1 };
    wanted.layout = LAYOUT_ELEMENTS;
    let mut borrow = MaybeUninit::<Borrow>::uninit();
    if (api.borrow_or_raise)(api.context, x, &wanted, borrow.as_mut_ptr()) != OK {
        return ptr::null_mut();
    }
    let a = &(*borrow.as_ptr()).desc;
    let n = a.ndim as usize;
    let result = sum(a.data, std::slice::from_raw_parts(a.shape, n), std::slice::from_raw_parts(a.strides, n));
    (api.release)(api.context, borrow.as_mut_ptr());
    PyFloat_FromDouble(result)
}

unsafe extern "C" fn free(what: *mut c_void) {
    drop(Box::from_raw(what as *mut Vec<i32>));
}

/// An aa.Array of 0, 1, …, n - 1, in memory of Rust's.
#[no_mangle]
pub unsafe extern "C" fn made(n: i64) -> *mut PyObject {
    let api = import(1);
    if api.is_null() {
        return ptr::null_mut();
    }
    let api = &*api;
    let values = Box::into_raw(Box::new((0..n as i32).collect::<Vec<i32>>()));
    let parts = Descriptor {
        data: (*values).as_mut_ptr() as *mut c_void,
        shape: &n,
        strides: ptr::null(),
        dtype: DType { code: INT, attributes: 0, bits: 32, count: 1 },
        device: Device { r#type: CPU, id: 0 },
        ndim: 1,
        flags: 0,
    };
    let array = (api.produce)(api.context, &parts, ptr::null_mut(), Some(free), values as *mut c_void);
    if array.is_null() {
        free(values as *mut c_void);
    }
    array
}
