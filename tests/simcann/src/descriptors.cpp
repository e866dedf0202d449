// What torch_npu links against but never needs here: operator descriptors of the older interface,
// profiling hooks, and functions that only say that they are not simulated.
#include <cstdio>
#include <cstring>
#include <string>

#include "simcann.hpp"

using namespace simcann;

namespace {

struct Description {
  int type, format, axes;
  int64_t shape[16];
};
struct Buffer {
  void* data;
  size_t size;
};
std::atomic<int64_t> options[16];

aclError unsimulated(const char* name) {
  return fail(kNotSupported, std::string(name) + " is not simulated");
}

}  // namespace

SIMCANN_API void* aclCreateTensorDesc(int type, int axes, const int64_t* shape, int format) {
  auto* made = new Description{type, format, axes, {}};
  for (int i = 0; i < axes && i < 16; i++) made->shape[i] = shape[i];
  return made;
}
SIMCANN_API void aclDestroyTensorDesc(const void* it) {
  delete static_cast<const Description*>(it);
}
SIMCANN_API size_t aclGetTensorDescNumDims(const void* it) {
  return static_cast<size_t>(static_cast<const Description*>(it)->axes);
}
SIMCANN_API int aclGetTensorDescType(const void* it) {
  return static_cast<const Description*>(it)->type;
}
SIMCANN_API int aclGetTensorDescFormat(const void* it) {
  return static_cast<const Description*>(it)->format;
}
SIMCANN_API aclError aclGetTensorDescDimV2(const void* it, size_t axis, int64_t* length) {
  *length = static_cast<const Description*>(it)->shape[axis];
  return kOk;
}
SIMCANN_API void aclSetTensorDescName(void*, const char*) {}
SIMCANN_API aclError aclSetTensorFormat(void* it, int format) {
  static_cast<Description*>(it)->format = format;
  return kOk;
}
SIMCANN_API aclError aclSetTensorPlaceMent(void*, int) { return kOk; }
SIMCANN_API aclError aclSetTensorShape(void* it, int axes, const int64_t* shape) {
  auto* description = static_cast<Description*>(it);
  description->axes = axes;
  for (int i = 0; i < axes && i < 16; i++) description->shape[i] = shape[i];
  return kOk;
}
SIMCANN_API void* aclCreateDataBuffer(void* data, size_t size) { return new Buffer{data, size}; }
SIMCANN_API aclError aclDestroyDataBuffer(const void* it) {
  delete static_cast<const Buffer*>(it);
  return kOk;
}

SIMCANN_API void* aclopCreateAttr() { return new char; }
SIMCANN_API void aclopDestroyAttr(const void* it) { delete static_cast<const char*>(it); }
SIMCANN_API aclError aclopSetAttrBool(void*, const char*, uint8_t) { return kOk; }
SIMCANN_API aclError aclopSetAttrDataType(void*, const char*, int) { return kOk; }
SIMCANN_API aclError aclopSetAttrFloat(void*, const char*, float) { return kOk; }
SIMCANN_API aclError aclopSetAttrInt(void*, const char*, int64_t) { return kOk; }
SIMCANN_API aclError aclopSetAttrListBool(void*, const char*, int, const uint8_t*) { return kOk; }
SIMCANN_API aclError aclopSetAttrListFloat(void*, const char*, int, const float*) { return kOk; }
SIMCANN_API aclError aclopSetAttrListInt(void*, const char*, int, const int64_t*) { return kOk; }
SIMCANN_API aclError aclopSetAttrListListInt(void*, const char*, int, const int*,
                                             const int64_t* const*) {
  return kOk;
}
SIMCANN_API aclError aclopSetAttrString(void*, const char*, const char*) { return kOk; }
SIMCANN_API aclError aclopCompileAndExecute(const char* name, int, const void* const*,
                                            const void* const*, int, const void* const*,
                                            void* const*, const void*, int, int, const char*,
                                            void*) {
  return unsimulated((std::string("the operator ") + name).c_str());
}
SIMCANN_API aclError aclSetCompileopt(int, const char*) { return kOk; }
SIMCANN_API size_t aclGetCompileoptSize(int) { return 16; }
SIMCANN_API aclError aclGetCompileopt(int, char* value, size_t size) {
  snprintf(value, size, "disable");
  return kOk;
}
SIMCANN_API aclError aclrtSetSysParamOpt(int option, int64_t value) {
  if (option < 0 || option >= 16) return kInvalidParam;
  options[option] = value;
  return kOk;
}
SIMCANN_API aclError aclrtGetSysParamOpt(int option, int64_t* value) {
  if (option < 0 || option >= 16) return kInvalidParam;
  *value = options[option];
  return kOk;
}
SIMCANN_API aclError aclrtCtxSetSysParamOpt(int option, int64_t value) {
  return aclrtSetSysParamOpt(option, value);
}
SIMCANN_API aclError aclrtCtxGetSysParamOpt(int option, int64_t* value) {
  return aclrtGetSysParamOpt(option, value);
}

SIMCANN_API aclError aclmdlInitDump() { return kOk; }
SIMCANN_API aclError aclmdlSetDump(const char*) { return kOk; }
SIMCANN_API aclError aclmdlFinalizeDump() { return kOk; }
SIMCANN_API aclError aclrtBinaryGetFunction(void*, const char*, void**) {
  return unsimulated("aclrtBinaryGetFunction");
}
SIMCANN_API aclError aclrtBinaryLoadFromData(const void*, size_t, const void*, void**) {
  return unsimulated("aclrtBinaryLoadFromData");
}
SIMCANN_API aclError aclrtGetFunctionAddr(void*, void**, void**) {
  return unsimulated("aclrtGetFunctionAddr");
}
SIMCANN_API int rtDevBinaryRegister(const void*, void**) {
  return unsimulated("rtDevBinaryRegister");
}
SIMCANN_API int rtFunctionRegister(void*, const void*, const char*, const void*, uint32_t) {
  return unsimulated("rtFunctionRegister");
}
SIMCANN_API int rtGetC2cCtrlAddr(uint64_t*, uint32_t*) { return unsimulated("rtGetC2cCtrlAddr"); }
SIMCANN_API int rtKernelLaunch(const void*, uint32_t, void*, uint32_t, void*, void*) {
  return unsimulated("rtKernelLaunch");
}
SIMCANN_API uint64_t MsprofGetHashId(const char* text, size_t size) {
  uint64_t hash = 1469598103934665603ULL;  // FNV-1a
  for (size_t i = 0; i < size; i++) hash = (hash ^ static_cast<uint8_t>(text[i])) * 1099511628211ULL;
  return hash;
}
SIMCANN_API int32_t MsprofRegisterCallback(uint32_t, void*) { return 0; }
SIMCANN_API int32_t MsprofReportAdditionalInfo(uint32_t, void*, uint32_t) { return 0; }
SIMCANN_API int32_t MsprofReportApi(uint32_t, const void*) { return 0; }
SIMCANN_API int32_t MsprofReportCompactInfo(uint32_t, void*, uint32_t) { return 0; }
SIMCANN_API uint64_t MsprofSysCycleTime() { return 0; }
