// nanobind reports objects that are still referenced when the interpreter exits; only sanitized builds need the report.
#pragma once

#include <nanobind/nanobind.h>

// When the interpreter exits with an error or after Ctrl-C, the frames of the last traceback keep modules alive, and
// the report would hide the error message. Every module calls this function on import.
inline void set_leak_report() {
#ifndef UNNAIVE_SANITIZED
  nanobind::set_leak_warnings(false);
#endif
}
