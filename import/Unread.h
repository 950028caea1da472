// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keys of a config that nothing has read, and what they may have meant.
#ifndef TORSOR_IMPORT_UNREAD_H
#define TORSOR_IMPORT_UNREAD_H

#include "import/Import.h"

namespace torsor {

/// One object on the way from a config's root to its text model.
struct OuterBlock {
  const Json *object;
  std::string path;
};

/// Every key that nothing has read, in nested blocks, too: an error if it
/// speaks of positions; else the model lists it as passed over.
void checkUnread(const Reader &config, const ImportOptions &options,
                 ImportedModel &model);
/// 'is_causal' = false, with which the library makes any causal model see both
/// ways, is an error; other keys that are false may be passed over.
void checkCausal(Reader &config, const ImportOptions &options,
                 const ImportedModel &model);
/// Warns of keys to ignore that the config does not have, or that the family
/// reads all the same.
void checkIgnored(const Reader &config, const Json &root,
                  const ImportOptions &options, const ImportedModel &model);
/// Keys that stand beside the text model in place of in it: a positional one is
/// an error if it contradicts it; the model lists the others as passed over.
void checkOuter(const std::vector<OuterBlock> &outer, const Reader &text,
                const ImportOptions &options, ImportedModel &model);

} // namespace torsor

#endif // TORSOR_IMPORT_UNREAD_H
