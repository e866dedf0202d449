// What the documentation says of operators (see activation's table.py): asked before each call.
#pragma once
#include <c10/util/Exception.h>

#include <atomic>
#include <mutex>
#include <set>

#include "tensors.hpp"

namespace simcann {

struct Refusal {
  std::set<std::string> dtypes;  // refused, as aclnn's parameter check does; "*": every call
  std::set<std::string> fallback;  // computed on the CPU by torch_npu, with a warning
};
struct Limit {
  int64_t axes = 0;  // most that an argument may have; 0: any
  int64_t elements = 0;  // results have fewer; 0: any
  std::string argument;  // may not be given
};
inline std::map<std::string, Refusal> refusals;
inline std::map<std::string, Limit> limits;
inline std::atomic<int64_t> fallbacks{0};

inline std::vector<at::Tensor> npu_tensors(const torch::jit::Stack& stack, size_t count) {
  std::vector<at::Tensor> found;
  for (size_t i = stack.size() - count; i < stack.size(); i++) {
    if (stack[i].isTensor() && is_npu(stack[i].toTensor())) found.push_back(stack[i].toTensor());
    if (stack[i].isTensorList())
      for (const at::Tensor& tensor : stack[i].toTensorVector())
        if (is_npu(tensor)) found.push_back(tensor);
  }
  return found;
}

// what the table says about a dtype that a call takes, or computes in
inline void check_dtype(const std::string& name, const std::string& dtype) {
  auto found = refusals.find(name);
  if (found == refusals.end()) return;
  TORCH_CHECK(!found->second.dtypes.count(dtype), "call aclnn", name,
              " failed, error code 161002: dtype DT_", dtype,
              " is not supported on Ascend910B (simulated)");
  if (!found->second.fallback.count(dtype)) return;
  fallbacks++;
  TORCH_CHECK(!flag("TORCH_NPU_FALLBACK_CPU_DISABLE"), "The operator 'aten::", name,
              "' is not supported on the NPU backend for ", dtype,
              ", and TORCH_NPU_FALLBACK_CPU_DISABLE is set (simulated)");
  static std::mutex mutex;
  static std::set<std::string> said;
  std::lock_guard<std::mutex> lock(mutex);
  if (said.insert(name).second)
    TORCH_WARN("CAUTION: The operator 'aten::", name,
               "' is not currently supported on the NPU backend and will fall back to run on "
               "the CPU. (simulated)");
}

// what table.py says about a call, before it is made
inline void check_table(const c10::FunctionSchema& schema, const torch::jit::Stack& stack) {
  std::string name = base_name(schema);
  size_t count = schema.arguments().size();
  std::vector<at::Tensor> tensors = npu_tensors(stack, count);
  auto limit = limits.find(name);
  if (limit != limits.end()) {
    for (const at::Tensor& tensor : tensors)
      TORCH_CHECK(!limit->second.axes || tensor.dim() <= limit->second.axes, "call aclnn", name,
                  " failed, error code 161002: a tensor of ", tensor.dim(),
                  " axes is not supported on Ascend910B (simulated)");
    for (size_t i = 0; i < count; i++)
      TORCH_CHECK(schema.arguments()[i].name() != limit->second.argument ||
                      stack[stack.size() - count + i].isNone(),
                  "call aclnn", name, " failed, error code 161002: argument ",
                  limit->second.argument, " is not supported on Ascend910B (simulated)");
  }
  auto found = refusals.find(name);
  if (found == refusals.end()) return;
  TORCH_CHECK(!found->second.dtypes.count("*"), "call aclnn", name,
              " failed, error code 161002: the function is not supported on Ascend910B "
              "(simulated)");
  std::vector<std::string> dtypes;
  for (const at::Tensor& tensor : tensors) dtypes.push_back(c10::toString(tensor.scalar_type()));
  for (size_t i = 0; i < count; i++) {
    const c10::IValue& value = stack[stack.size() - count + i];
    if (schema.arguments()[i].name() == "dtype" && value.isInt())
      dtypes.push_back(c10::toString(value.toScalarType()));
  }
  for (const std::string& dtype : dtypes) check_dtype(name, dtype);
}

inline void check_results(const c10::FunctionSchema& schema, const torch::jit::Stack& stack) {
  auto limit = limits.find(base_name(schema));
  if (limit == limits.end() || !limit->second.elements) return;
  for (size_t i = stack.size() - schema.returns().size(); i < stack.size(); i++)
    TORCH_CHECK(!stack[i].isTensor() || stack[i].toTensor().numel() < limit->second.elements,
                "call aclnn", base_name(schema), " failed, error code 161002: a result of ",
                stack[i].toTensor().numel(), " elements is not supported on Ascend910B "
                "(simulated)");
}

}  // namespace simcann
