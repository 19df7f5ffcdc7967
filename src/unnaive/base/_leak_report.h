// nanobind's report of what is still referenced when the interpreter ends: for those who build with sanitizers.
#pragma once

#include <nanobind/nanobind.h>

// An interpreter that ends with an error or by Ctrl-C keeps modules alive by the frames of its last traceback; the
// report would bury the one sentence that says what went wrong. Every module calls this when it is imported.
inline void set_leak_report() {
#ifndef UNNAIVE_SANITIZED
  nanobind::set_leak_warnings(false);
#endif
}
