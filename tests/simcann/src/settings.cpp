// Environment variables, and faults on demand.
#include <cstdlib>
#include <cstring>

#include "simcann.hpp"

namespace simcann {

int64_t setting(const char* name, int64_t otherwise) {
  const char* value = getenv(name);
  return value && *value ? strtoll(value, nullptr, 0) : otherwise;
}

std::string text_setting(const char* name, const char* otherwise) {
  const char* value = getenv(name);
  return value && *value ? value : otherwise;
}

std::string soc_name() { return text_setting("SIMCANN_SOC", "Ascend910B3"); }

bool fault(const char* kind, int rank) {
  static const std::string wanted = text_setting("SIMCANN_FAULT", "");
  static const size_t colon = wanted.find(':');
  static std::atomic<int64_t> left{
      colon == std::string::npos ? -1 : strtoll(wanted.c_str() + colon + 1, nullptr, 0)};
  static const size_t at = wanted.find('@');
  static const int64_t only =
      at == std::string::npos ? -1 : strtoll(wanted.c_str() + at + 1, nullptr, 0);
  if (colon == std::string::npos || wanted.compare(0, colon, kind) != 0) return false;
  if (only >= 0 && rank != only) return false;
  return left.fetch_sub(1) == 1;
}

}  // namespace simcann

SIMCANN_API int simcann_fault(const char* kind, int rank) { return simcann::fault(kind, rank); }

// the 910A always, and an A2 by INF_NAN_MODE_FORCE_DISABLE=1 (torch_npu refuses plain
// INF_NAN_MODE_ENABLE=0 there)
SIMCANN_API int simcann_saturates() {
  static const bool on = [] {
    std::string soc = simcann::soc_name();
    bool first = soc.rfind("Ascend910", 0) == 0 && soc.back() == 'A';
    return first || simcann::setting("INF_NAN_MODE_FORCE_DISABLE", 0) != 0;
  }();
  return on;
}
