// SPDX-License-Identifier: Apache-2.0
// Everything that needs no Python.
#pragma once
#include "anyarray/array.h"
#include "anyarray/c_api.h"
#include "anyarray/copy.h"
#include "anyarray/descriptor.h"
#include "anyarray/device.h"
#include "anyarray/dtype.h"
#include "anyarray/element.h"
#include "anyarray/layout.h"
#include "anyarray/policy.h"
#include "anyarray/produce.h"
#include "anyarray/protocols/dlpack.h"
#include "anyarray/protocols/pep3118.h"
#include "anyarray/protocols/typestr.h"
#include "anyarray/request.h"
#include "anyarray/status.h"
#include "anyarray/view.h"
