// The few aclnn kernels that torch_npu calls without the dispatcher: copy, cast, fill, pad, complex.
//
// Each has two phases, as all aclnn functions: ...GetWorkspaceSize describes the call, the second
// phase queues it on a stream. Descriptions hold raw device pointers, as real ones do.
#include <algorithm>
#include <complex>
#include <cstring>
#include <limits>
#include <vector>

#include "halves.hpp"
#include "simcann.hpp"

using namespace simcann;

namespace {

enum Type { kFloat, kHalf, kInt8, kInt32, kUint8, kInt16 = 6, kUint16, kUint32, kInt64, kUint64,
            kDouble, kBool, kComplex64 = 16, kComplex128, kBfloat16 = 27 };
constexpr aclError kParamError = 161002;

size_t width(int type) {
  switch (type) {
    case kInt8: case kUint8: case kBool: return 1;
    case kHalf: case kInt16: case kUint16: case kBfloat16: return 2;
    case kFloat: case kInt32: case kUint32: return 4;
    case kInt64: case kUint64: case kDouble: case kComplex64: return 8;
    case kComplex128: return 16;
    default: return 0;
  }
}

struct Tensor {
  int type;
  int64_t offset;
  std::vector<int64_t> shape, strides;
  char* data;
};
struct Scalar {
  int type;
  char bytes[16];
};

// a number on its way from one type to another
struct Number {
  double real = 0, imaginary = 0;
  int64_t integer = 0;
  bool integral = false;
};

template <class T>
T as(const char* at) {
  T value;
  memcpy(&value, at, sizeof value);
  return value;
}

template <class T>
void put(char* at, T value) {
  memcpy(at, &value, sizeof value);
}

Number whole(int64_t value) { return {static_cast<double>(value), 0, value, true}; }
Number real(double value) { return {value, 0, 0, false}; }

Number load(int type, const char* at) {
  switch (type) {
    case kFloat: return real(as<float>(at));
    case kHalf: return real(from_half(as<uint16_t>(at)));
    case kBfloat16: return real(from_bfloat(as<uint16_t>(at)));
    case kDouble: return real(as<double>(at));
    case kInt8: return whole(as<int8_t>(at));
    case kUint8: return whole(as<uint8_t>(at));
    case kInt16: return whole(as<int16_t>(at));
    case kUint16: return whole(as<uint16_t>(at));
    case kInt32: return whole(as<int32_t>(at));
    case kUint32: return whole(as<uint32_t>(at));
    case kInt64: return whole(as<int64_t>(at));
    case kUint64: {
      auto value = as<uint64_t>(at);
      return {static_cast<double>(value), 0, static_cast<int64_t>(value), true};
    }
    case kBool: return whole(as<uint8_t>(at) != 0);
    case kComplex64: return {as<float>(at), as<float>(at + 4), 0, false};
    default: return {as<double>(at), as<double>(at + 8), 0, false};
  }
}

double saturated(int type, double value) {
  if (value != value) return 0;
  double most = type == kHalf       ? 65504.0
                : type == kBfloat16 ? static_cast<double>(from_bfloat(0x7f7f))
                : type == kDouble || type == kComplex128
                    ? std::numeric_limits<double>::max()
                    : static_cast<double>(std::numeric_limits<float>::max());
  return std::clamp(value, -most, most);
}

void store(int type, char* at, const Number& given) {
  Number n = given;
  if (!n.integral && simcann_saturates() && type != kBool) {
    n.real = saturated(type, n.real);
    n.imaginary = saturated(type, n.imaginary);
  }
  int64_t integer = n.integral ? n.integer
                               : (n.real == n.real ? static_cast<int64_t>(n.real) : INT64_MIN);
  switch (type) {
    case kFloat: return put(at, static_cast<float>(n.real));
    case kHalf: return put(at, to_half(static_cast<float>(n.real)));
    case kBfloat16: return put(at, to_bfloat(static_cast<float>(n.real)));
    case kDouble: return put(at, n.real);
    case kInt8: case kUint8: return put(at, static_cast<int8_t>(integer));
    case kInt16: case kUint16: return put(at, static_cast<int16_t>(integer));
    case kInt32: case kUint32: return put(at, static_cast<int32_t>(integer));
    case kInt64: case kUint64: return put(at, integer);
    case kBool:
      return put(at, static_cast<uint8_t>(n.integral ? n.integer != 0
                                                     : n.real != 0 || n.imaginary != 0));
    case kComplex64:
      put(at, static_cast<float>(n.real));
      return put(at + 4, static_cast<float>(n.imaginary));
    default:
      put(at, n.real);
      return put(at + 8, n.imaginary);
  }
}

// Calls function(pointer to the element of the target, of each source); sources broadcast.
template <class F>
void each(const Tensor& target, const std::vector<const Tensor*>& sources, F function) {
  size_t axes = target.shape.size();
  int64_t count = 1;
  for (int64_t n : target.shape) count *= n;
  std::vector<int64_t> index(axes, 0);
  std::vector<const char*> from(sources.size());
  for (int64_t k = 0; k < count; k++) {
    int64_t at = target.offset;
    for (size_t i = 0; i < axes; i++) at += index[i] * target.strides[i];
    for (size_t s = 0; s < sources.size(); s++) {
      const Tensor& source = *sources[s];
      int64_t place = source.offset;
      size_t missing = axes - source.shape.size();
      for (size_t i = missing; i < axes; i++)
        if (source.shape[i - missing] != 1) place += index[i] * source.strides[i - missing];
      from[s] = source.data + place * static_cast<int64_t>(width(source.type));
    }
    function(target.data + at * static_cast<int64_t>(width(target.type)), from);
    for (size_t i = axes; i-- > 0;) {
      if (++index[i] < target.shape[i]) break;
      index[i] = 0;
    }
  }
}

bool packed(const Tensor& t) {
  int64_t step = 1;
  for (size_t i = t.shape.size(); i-- > 0;) {
    if (t.shape[i] != 1 && t.strides[i] != step) return false;
    step *= t.shape[i];
  }
  return true;
}

aclError copy(const Tensor& to, const Tensor& from) {
  if (to.type == from.type && to.shape == from.shape && packed(to) && packed(from)) {
    size_t size = width(to.type), count = 1;
    for (int64_t n : to.shape) count *= static_cast<size_t>(n);
    memmove(to.data + to.offset * static_cast<int64_t>(size),
            from.data + from.offset * static_cast<int64_t>(size), count * size);
    return kOk;
  }
  each(to, {&from}, [&](char* at, const std::vector<const char*>& source) {
    if (to.type == from.type)
      memcpy(at, source[0], width(to.type));
    else
      store(to.type, at, load(from.type, source[0]));
  });
  return kOk;
}

using Call = std::function<aclError()>;

aclError described(uint64_t* workspace, void** call, Call what) {
  *workspace = 0;
  *call = new Call(std::move(what));
  return kOk;
}

aclError queued(void* call, void* stream) {
  queue(stream, [work = std::shared_ptr<Call>(static_cast<Call*>(call))] { return (*work)(); });
  return kOk;
}

const Tensor& tensor(const void* handle) { return *static_cast<const Tensor*>(handle); }

aclError fill(const Tensor& target, const Number& value) {
  each(target, {}, [&](char* at, const std::vector<const char*>&) {
    store(target.type, at, value);
  });
  return kOk;
}

}  // namespace

SIMCANN_API void* aclCreateTensor(const int64_t* shape, uint64_t axes, int type,
                                  const int64_t* strides, int64_t offset, int, const int64_t*,
                                  uint64_t, void* data) {
  return new Tensor{type, offset, {shape, shape + axes}, {strides, strides + axes},
                    static_cast<char*>(data)};
}
SIMCANN_API int aclDestroyTensor(const void* handle) {
  delete static_cast<const Tensor*>(handle);
  return kOk;
}
SIMCANN_API void* aclCreateScalar(void* value, int type) {
  auto* scalar = new Scalar{type, {}};
  memcpy(scalar->bytes, value, width(type));
  return scalar;
}
SIMCANN_API int aclDestroyScalar(const void* handle) {
  delete static_cast<const Scalar*>(handle);
  return kOk;
}
SIMCANN_API void* aclCreateIntArray(const int64_t* values, uint64_t count) {
  return new std::vector<int64_t>(values, values + count);
}
SIMCANN_API int aclDestroyIntArray(const void* handle) {
  delete static_cast<const std::vector<int64_t>*>(handle);
  return kOk;
}

#define SECOND_PHASE(name)                                                         \
  SIMCANN_API int name(void*, uint64_t, void* call, void* stream) {                \
    return queued(call, stream);                                                   \
  }

SIMCANN_API int aclnnInplaceCopyGetWorkspaceSize(void* to, const void* from, uint64_t* workspace,
                                                 void** call) {
  if (!width(tensor(to).type) || !width(tensor(from).type)) return kParamError;
  return described(workspace, call, [a = tensor(to), b = tensor(from)] { return copy(a, b); });
}
SECOND_PHASE(aclnnInplaceCopy)

SIMCANN_API int aclnnCastGetWorkspaceSize(const void* from, int, void* to, uint64_t* workspace,
                                          void** call) {
  return described(workspace, call, [a = tensor(to), b = tensor(from)] { return copy(a, b); });
}
SECOND_PHASE(aclnnCast)

SIMCANN_API int aclnnComplexGetWorkspaceSize(const void* re, const void* im, void* out,
                                             uint64_t* workspace, void** call) {
  return described(workspace, call, [a = tensor(re), b = tensor(im), o = tensor(out)] {
    each(o, {&a, &b}, [&](char* at, const std::vector<const char*>& from) {
      store(o.type, at, {load(a.type, from[0]).real, load(b.type, from[1]).real, 0, false});
    });
    return kOk;
  });
}
SECOND_PHASE(aclnnComplex)

SIMCANN_API int aclnnInplaceFillScalarGetWorkspaceSize(void* target, const void* value,
                                                       uint64_t* workspace, void** call) {
  const auto* scalar = static_cast<const Scalar*>(value);
  return described(workspace, call,
                   [t = tensor(target), number = load(scalar->type, scalar->bytes)] {
                     return fill(t, number);
                   });
}
SECOND_PHASE(aclnnInplaceFillScalar)

SIMCANN_API int aclnnInplaceFillTensorGetWorkspaceSize(void* target, const void* value,
                                                       uint64_t* workspace, void** call) {
  return described(workspace, call, [t = tensor(target), v = tensor(value)] {
    return fill(t, load(v.type, v.data + v.offset * static_cast<int64_t>(width(v.type))));
  });
}
SECOND_PHASE(aclnnInplaceFillTensor)

SIMCANN_API int aclnnInplaceZeroGetWorkspaceSize(void* target, uint64_t* workspace, void** call) {
  return described(workspace, call, [t = tensor(target)] { return fill(t, whole(0)); });
}
SECOND_PHASE(aclnnInplaceZero)

SIMCANN_API int aclnnInplaceOneGetWorkspaceSize(void* target, uint64_t* workspace, void** call) {
  return described(workspace, call, [t = tensor(target)] { return fill(t, whole(1)); });
}
SECOND_PHASE(aclnnInplaceOne)

SIMCANN_API int aclnnConstantPadNdGetWorkspaceSize(const void* from, const void* padding,
                                                   const void* value, void* to,
                                                   uint64_t* workspace, void** call) {
  const auto* scalar = static_cast<const Scalar*>(value);
  return described(
      workspace, call,
      [in = tensor(from), out = tensor(to), number = load(scalar->type, scalar->bytes),
       widths = *static_cast<const std::vector<int64_t>*>(padding)] {
        fill(out, number);
        Tensor target = out, source = in;
        for (size_t k = 0; k < widths.size() / 2; k++) {  // last axis first; negative widths crop
          size_t axis = target.shape.size() - 1 - k;
          int64_t before = widths[2 * k], after = widths[2 * k + 1], length = source.shape[axis];
          if (before > 0) {
            target.offset += before * target.strides[axis];
          } else {
            source.offset -= before * source.strides[axis];
            length += before;
          }
          if (after < 0) length += after;
          source.shape[axis] = length;
        }
        target.shape = source.shape;
        return copy(target, source);
      });
}
SECOND_PHASE(aclnnConstantPadNd)
