// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes torsor_module and what it points to as LLVM constants. The structs are
// those of runtime/torsor_kernel.h, field by field; static_asserts hold sizes.
#include "codegen/Descriptor.h"
#include "runtime/torsor_kernel.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/xxhash.h"

#include <optional>

using namespace llvm;

namespace torsor {
namespace {

class ConstantWriter {
public:
  explicit ConstantWriter(Module &code)
      : code(code), context(code.getContext()) {}

  Constant *i16(uint64_t value) {
    return ConstantInt::get(Type::getInt16Ty(context), value);
  }
  Constant *i32(int64_t value) {
    return ConstantInt::getSigned(Type::getInt32Ty(context), int32_t(value));
  }
  Constant *i64(int64_t value) {
    return ConstantInt::getSigned(Type::getInt64Ty(context), value);
  }
  Constant *f64(double value) {
    return ConstantFP::get(Type::getDoubleTy(context), value);
  }
  Constant *null() {
    return ConstantPointerNull::get(PointerType::getUnqual(context));
  }
  Constant *record(ArrayRef<Constant *> fields) {
    return ConstantStruct::getAnon(context, fields);
  }

  /// A private constant that holds `value`; its address.
  Constant *place(Constant *value, Align align = Align(8)) {
    auto *global = new GlobalVariable(code, value->getType(), true,
                                      GlobalValue::PrivateLinkage, value);
    global->setAlignment(align);
    return global;
  }
  Constant *text(StringRef string) {
    return place(ConstantDataArray::getString(context, string), Align(1));
  }
  Constant *bytes(ArrayRef<uint8_t> data) {
    return data.empty()
               ? null()
               : place(ConstantDataArray::get(context, data), Align(1));
  }
  /// An array of records, null if there are none.
  Constant *list(ArrayRef<Constant *> records) {
    if (records.empty())
      return null();
    auto *type = ArrayType::get(records[0]->getType(), records.size());
    return place(ConstantArray::get(type, records));
  }
  /// The function of that name, which the object must hold; null if empty.
  Constant *function(StringRef name) {
    if (name.empty())
      return null();
    Function *found = code.getFunction(name);
    assert(found && "a descriptor names a function that was not emitted");
    return found;
  }

  Constant *field(const FieldInfo &info);
  Constant *operation(const OperationInfo &info);
  Constant *variant(const VariantInfo &info);
  Constant *scheme(const SchemeInfo &info);
  Constant *module(const ModuleInfo &info);

private:
  Module &code;
  LLVMContext &context;
};

static_assert(sizeof(torsor_field) == 104);
Constant *ConstantWriter::field(const FieldInfo &info) {
  SmallVector<Constant *> shape;
  for (size_t axis = 0; axis < TORSOR_MAX_RANK; ++axis)
    shape.push_back(i64(axis < info.shape.size() ? info.shape[axis] : 0));
  auto *axes = ArrayType::get(Type::getInt64Ty(context), TORSOR_MAX_RANK);
  return record({text(info.name), i32(info.flags), i32(info.stage),
                 i32(info.sides), i32(info.dtype), i32(info.shape.size()),
                 i32(info.contract), ConstantArray::get(axes, shape),
                 f64(info.low), f64(info.high), f64(info.condition)});
}

static_assert(sizeof(torsor_kernel_op) == 32);
Constant *ConstantWriter::operation(const OperationInfo &info) {
  return record({i32(info.op), i32(info.flags), function(info.plan),
                 function(info.run), bytes(info.reads)});
}

static_assert(sizeof(torsor_variant) == 72);
Constant *ConstantWriter::variant(const VariantInfo &info) {
  SmallVector<Constant *> operations;
  for (const OperationInfo &one : info.operations)
    operations.push_back(operation(one));
  return record({text(info.name), i64(info.features[0]), i64(info.features[1]),
                 list(operations), i32(operations.size()),
                 i32(sizeof(torsor_kernel_op)), function(info.tables),
                 function(info.bind), null(), i64(0)});
}

static_assert(sizeof(torsor_descriptor) == 160);
Constant *ConstantWriter::scheme(const SchemeInfo &info) {
  SmallVector<Constant *> arguments, streams, variants;
  for (const FieldInfo &one : info.arguments)
    arguments.push_back(field(one));
  for (const FieldInfo &one : info.streams)
    streams.push_back(field(one));
  for (const VariantInfo &one : info.variants)
    variants.push_back(variant(one));
  return record({i32(sizeof(torsor_descriptor)),
                 i32(info.valueInKey ? TORSOR_VALUE_IN_KEY : 0),
                 text(info.name),
                 text(info.canonical),
                 text(info.manifest),
                 text(info.contract),
                 i64(int64_t(xxh3_64bits(info.contract))),
                 i64(info.head),
                 i64(info.value),
                 i32(info.q),
                 i32(info.k),
                 i32(info.v),
                 i32(info.o),
                 list(arguments),
                 i32(arguments.size()),
                 i32(sizeof(torsor_field)),
                 list(streams),
                 i32(streams.size()),
                 i32(sizeof(torsor_field)),
                 list(variants),
                 i32(variants.size()),
                 i32(sizeof(torsor_variant)),
                 i64(info.decodeQueries),
                 i64(info.window),
                 i64(info.first),
                 info.noRebase.empty() ? null() : text(info.noRebase)});
}

static_assert(sizeof(torsor_module) == 56);
Constant *ConstantWriter::module(const ModuleInfo &info) {
  SmallVector<Constant *> schemes, layers;
  for (const SchemeInfo &one : info.schemes)
    schemes.push_back(place(scheme(one)));
  for (const std::vector<uint32_t> &row : info.layers)
    for (uint32_t n = 0; n < info.attentions; ++n)
      layers.push_back(i32(n < row.size() ? int32_t(row[n]) : -1));
  return record({i64(TORSOR_MAGIC), i32(sizeof(torsor_module)),
                 i16(TORSOR_KERNEL_ABI_MAJOR), i16(TORSOR_KERNEL_ABI_MINOR),
                 text("torsor 0.1.0, LLVM " LLVM_VERSION_STRING), list(schemes),
                 i32(schemes.size()), i32(info.layers.size()),
                 i32(info.attentions), i32(0), list(layers)});
}

} // namespace

void addModuleConstant(Module &code, StringRef name, const ModuleInfo &info,
                       bool entry) {
  ConstantWriter writer(code);
  Constant *value = writer.module(info);
  auto *module = new GlobalVariable(code, value->getType(), true,
                                    GlobalValue::ExternalLinkage, value,
                                    "torsor_module_" + name.str());
  module->setAlignment(Align(8));
  if (!entry)
    return;
  new GlobalVariable(code, PointerType::getUnqual(code.getContext()), true,
                     GlobalValue::ExternalLinkage, module, "torsor_entry");
}

} // namespace torsor
