// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cases of all files.
#include "test/oracle/Oracle.h"

namespace torsor::test {

std::vector<OracleEntry> allCases() {
  std::vector<OracleEntry> all;
  for (auto list : {spectrumCases(), biasCases(), maskCases(), actionCases(),
                    attentionCases(), readoutCases()})
    all.insert(all.end(), list.begin(), list.end());
  return all;
}

std::string testName(const testing::TestParamInfo<OracleEntry> &info) {
  std::string name = info.param.id;
  for (char &c : name)
    if (!std::isalnum(c))
      c = c == '+' ? 'p' : c == '-' ? 'm' : '_';
  return name;
}

} // namespace torsor::test
