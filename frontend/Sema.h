// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checker: evaluates a file's definitions and clauses in stages, proves
// what the language asks for, and elaborates its schemes.
#ifndef TORSOR_FRONTEND_SEMA_H
#define TORSOR_FRONTEND_SEMA_H

#include "frontend/Builtins.h"
#include "frontend/Diagnostics.h"
#include "frontend/Meaning.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"

#include <map>
#include <set>

namespace torsor {

struct CheckOptions;

/// A scheme that is being checked.
struct SchemeState {
  SchemeState(Scheme &scheme, const SchemeItem &item)
      : scheme(scheme), item(item) {}

  Scheme &scheme;
  const SchemeItem &item;
  /// Where its arguments were given; not valid: in no text.
  SourceRange use;
  ClockInfo *pos = nullptr;
  /// What its names stand for: a `let`, or a value (of a clause or argument).
  struct Entity {
    const LetClause *let = nullptr;
    Meaning value;
    SourceRange range;
    bool used = false;
    /// Declared, but read only after the widths.
    bool pending = false;
    /// Set by an argument of the scheme.
    SourceRange argument;
  };
  llvm::StringMap<Entity> names;
  /// Built-in names it tried to define.
  llvm::StringSet<> takenNames;
  /// The clause 'head' has an error, so that no width can be compared with it.
  bool headIsWrong = false;
  /// Clauses that were told not to read the contents of q and k.
  std::set<Where> toldOfContent;
  /// Facts from the mask; before it is read, nothing is known.
  bool causal = false;
  /// Values of lets, of the scheme and of the file, by where they are used.
  std::map<std::pair<const void *, Where>, Meaning> letValues;
  /// Lets of the scheme being evaluated, for recursion.
  std::vector<const void *> forcing;
};

/// One check of one file. Errors go to the list; whatever depends on something
/// wrong is Poison and stays silent.
class Sema {
public:
  Sema(CheckedFile &out, DiagnosticList &diagnostics,
       const CheckOptions &options);

  /// Declares a file's items, imported files first, and checks all of it.
  void run(std::shared_ptr<const SourceFile> main,
           std::shared_ptr<const SourceFile> prelude);

private:
  // --- SemaFile.cpp: files and their names
  void load(const std::shared_ptr<const SourceFile> &source,
            std::vector<std::string> &open, bool prelude);
  void loadImport(const Import &import, const SourceFile &from,
                  std::vector<std::string> &open);
  void declareItem(const Item *item, bool prelude);
  void checkItems(const ParsedFile &file);
  /// What CheckOptions::scheme names; null: no scheme of the text.
  const SchemeItem *findChosenScheme() const;
  bool bindSettings(const SchemeItem *scheme, llvm::StringMap<Binding> &args);
  void checkSettings();
  void checkFileLet(const LetItem *item);
  const Item *findItem(llvm::StringRef name, const Env &env) const;
  Env makeFileEnv(const Item *item, Where where) const;

  // --- SemaReport.cpp: messages and budgets
  Diagnostic &report(const Env &env, SourceRange range, llvm::StringRef id,
                     std::string text);
  Meaning fail(const Env &env, SourceRange range, llvm::StringRef id,
               std::string text);
  void warn(SourceRange range, llvm::StringRef id, std::string text);
  /// Counts work; false, after one error, when the budget is used up.
  bool spend(const Env &env, SourceRange range, uint64_t steps = 1);

  // --- SemaNames.cpp
  Meaning evalName(const NameExpr *e, Env &env);
  Meaning evalAmbient(llvm::StringRef name, const NameExpr *e, Env &env);
  Meaning forceLet(const LetClause *let, SourceRange use, Env &env);
  Meaning inlineLet(const LetItem *let, SourceRange use, Env &env);
  Meaning unknown(llvm::StringRef name, SourceRange range, Env &env,
                  llvm::StringRef what = "name");
  bool mayDefine(const Env &env, const Name &name);
  /// The same for a name inside a definition of the user, which must not hide
  /// what the file defines either.
  bool mayDefineInside(const Env &env, const Name &name);
  /// May a value stand for its definition from now on? Not where an error may
  /// have been dropped.
  bool mayKeep(const Meaning &value) const {
    return !value.isPoison() || (!allUnchecked && !valuesUnchecked);
  }
  /// Reports names of an expression that mean nothing, without evaluating it.
  void resolveNames(const Expr *e, Env &env, llvm::StringSet<> &bound);
  void resolveItem(const Item *item);
  /// Reports formals and lets of a definition that hide something.
  void checkNames(const Item *item);

  // --- SemaExpr.cpp
  Meaning eval(const Expr *e, Env &env);
  Meaning evalDispatch(const Expr *e, Env &env);
  Meaning evalIf(const IfExpr *e, Env &env);
  Meaning evalKnownIf(const IfExpr *e, bool taken, Env &env);
  Meaning evalCompare(const CompareExpr *e, Env &env);
  Meaning compare(const CompareLink &link, Meaning a, Meaning b,
                  const Expr *left, const CompareExpr *whole, Env &env);
  Meaning evalLogic(const BinaryExpr *e, Env &env);
  Meaning evalNot(const NotExpr *e, Env &env);
  Meaning evalNegate(const NegateExpr *e, Env &env);
  /// A number, or an error that says what to write instead.
  Meaning number(Meaning value, const Expr *e, Env &env);
  Meaning boolean(Meaning value, const Expr *e, Env &env);
  Meaning evalNumber(const Expr *e, Env &env) {
    return number(eval(e, env), e, env);
  }
  Meaning evalBoolean(const Expr *e, Env &env) {
    return boolean(eval(e, env), e, env);
  }
  /// A constant; `what` begins the message ("a width").
  std::optional<Integer> evalInt(const Expr *e, Env &env, llvm::StringRef what);
  std::optional<int64_t> evalSize(const Expr *e, Env &env,
                                  llvm::StringRef what);
  std::optional<double> evalReal(const Expr *e, Env &env, llvm::StringRef what);
  Meaning select(Scalar condition, Scalar yes, Scalar no, SourceRange range);

  // --- SemaArithmetic.cpp
  Meaning evalBinary(const BinaryExpr *e, Env &env);
  Meaning arithmetic(const BinaryExpr *e, Scalar a, Scalar b, Env &env);
  Meaning foldInts(const BinaryExpr *e, const Integer &a, const Integer &b,
                   Env &env);
  Meaning foldReals(const BinaryExpr *e, double a, double b, Env &env);
  bool divisorIsSafe(const BinaryExpr *e, Scalar b, Env &env);
  bool powerIsSafe(const BinaryExpr *e, Scalar a, Scalar b, bool ints,
                   Env &env);
  Interval boundsOf(const BinaryExpr *e, Scalar a, Scalar b, bool ints,
                    const Env &env) const;
  /// Constants that meet run-time values must fit their machine types.
  bool fitsRunTime(const Node *result, const Expr *at, Env &env);
  Meaning constantReal(double value, SourceRange range, Env &env);

  // --- SemaSums.cpp
  Meaning evalFor(const ForExpr *e, Env &env);
  Meaning evalList(const ListExpr *e, Env &env);
  Meaning evalSum(const SumExpr *e, Env &env);
  Meaning evalCountedSum(const SumExpr *e, int64_t count, Env &env);
  Meaning addNumbers(llvm::ArrayRef<Meaning> items, const SumExpr *e, Env &env);
  Meaning evalPathSum(const SumExpr *e, Env &env);
  bool bindIndex(const Name &name, SourceRange all, Env &env);
  std::optional<int64_t> evalBound(const Expr *e, Env &env);

  // --- SemaIndex.cpp
  Meaning evalIndex(const IndexExpr *e, Env &env);
  Meaning indexVector(const VectorInfo *vector, const IndexExpr *e, Env &env);
  Meaning indexClock(ClockRef clock, const IndexExpr *e, Env &env);
  Meaning indexTokenVector(bool isKey, const IndexExpr *e, Env &env);
  Meaning indexTensor(const TensorInfo *tensor, const IndexExpr *e, Env &env);
  bool isInside(Scalar index, const AxisInfo &axis, const Expr *e, Env &env);
  Meaning readClock(ClockRef clock, TokenId token, SourceRange range, Env &env);
  Meaning clockDifference(ClockRef clock, bool age, SourceRange range,
                          Env &env);
  TokenId tokenOf(Scalar index) const;

  // --- SemaCalls.cpp
  Meaning evalCall(const CallExpr *e, Env &env);
  Meaning callFunction(const FunctionItem *item, llvm::ArrayRef<Argument> args,
                       SourceRange call, SourceRange nameRange, Env &env);
  Meaning runBody(const FunctionItem *item, Env &inner, SourceRange call);
  bool bindArguments(const Item *item, llvm::ArrayRef<Formal> formals,
                     llvm::ArrayRef<Argument> args, SourceRange nameRange,
                     Env &env, llvm::StringMap<Binding> &out);
  bool checkRequire(const RequireClause *clause, Env &env, llvm::StringRef name,
                    SourceRange call);
  /// Identity of a list of constant arguments; empty if some are none.
  std::string argumentKey(const llvm::StringMap<Binding> &args,
                          llvm::ArrayRef<Formal> formals) const;

  // --- SemaFit.cpp: values and the types that are asked for
  Meaning fit(Meaning value, const TypeNode &type, const Expr *e, Env &env,
              const std::string &what, llvm::StringMap<Binding> &scope,
              const SourceFile *typeFile);
  bool fitSize(const TypeNode &type, int64_t length, const Expr *e, Env &env,
               const std::string &what, llvm::StringMap<Binding> &scope,
               const SourceFile *typeFile);
  Meaning coerce(Meaning value, NumberType type, const Expr *e, Env &env,
                 const std::string &what);
  Meaning coerceResult(Meaning value, const FunctionItem *item, Env &inner);

  // --- SemaFunctions.cpp: primitive functions
  Meaning evalFunction(const CallExpr *e, Env &env);
  Meaning applyReal(const RealFunction &f, Scalar x, const CallExpr *e,
                    Env &env);
  Meaning applyExtremum(const CallExpr *e, llvm::ArrayRef<Scalar> args,
                        Env &env);
  Meaning applyRounding(const CallExpr *e, Scalar x, Env &env);
  Meaning applyILog2(const CallExpr *e, Scalar x, Env &env);
  Meaning applyAbs(const CallExpr *e, Scalar x, Env &env);
  Meaning applyDot(const CallExpr *e, Env &env);
  const Node *vectorNode(const VectorInfo *vector, SourceRange range);

  // --- SemaBlocks.cpp: blocks and combinators of actions
  struct BlockCall;
  Meaning evalBlock(const CallExpr *e, Env &env);
  bool bindBlock(BlockCall &call, Env &env);
  Meaning evalRate(BlockCall &call, llvm::StringRef formal, Env &env);
  Meaning evalActionArgument(BlockCall &call, Env &env);
  std::optional<int64_t> evalWidth(BlockCall &call, Env &env);
  Meaning evalTurn(BlockCall &call, Env &env);
  Meaning evalDecay(BlockCall &call, Env &env);
  Meaning evalJordan(BlockCall &call, Env &env);
  Meaning evalPlane(BlockCall &call, Env &env);
  Meaning evalLayout(BlockCall &call, Env &env);
  Meaning evalBasis(BlockCall &call, Env &env);
  Meaning evalGain(BlockCall &call, Env &env);
  Meaning evalLaneGain(BlockCall &call, const ActionNode *base, Env &env);
  Meaning evalAt(const AtExpr *e, Env &env);
  Meaning directSum(llvm::ArrayRef<const ActionNode *> parts, const Expr *e,
                    Env &env);
  Meaning product(const ActionNode *a, const ActionNode *b, const Expr *e,
                  Env &env);
  Meaning make(ActionNode node, const Expr *e, Env &env);
  const VectorInfo *make(VectorInfo vector);

  // --- SemaScheme.cpp: the clauses of a scheme
  Scheme *checkScheme(const SchemeItem *item, llvm::StringMap<Binding> args,
                      std::string name, SourceRange range, SourceRange call);
  void readClauses(SchemeState &state, SourceRange call);
  /// Whether the width that `expr` gives is 1 to 1024; says so if it is not.
  bool checkWidth(int64_t width, const Expr *expr, Env &env, const char *what);
  void readHead(SchemeState &state);
  void findOpenWidth(SchemeState &state);
  void findValueWidth(SchemeState &state);
  void readMask(SchemeState &state);
  void readAction(SchemeState &state);
  void readValue(SchemeState &state);
  void readValueAction(SchemeState &state);
  void readVectors(SchemeState &state);
  void readTerms(SchemeState &state);
  const Node *readScalarTerm(SchemeState &state, const TermClause *clause,
                             Where where);
  void checkTermsFit(SchemeState &state);
  void readNorm(SchemeState &state);
  const TensorInfo *readNormWeight(SchemeState &state, const Argument &arg,
                                   Env &env);
  void readReadout(SchemeState &state);
  void readBeta(SchemeState &state, const CallClause *clause, Env &env);
  Env makeClauseEnv(SchemeState &state, Where where) const;

  // --- SemaDeclarations.cpp: names of a scheme
  void declareLets(SchemeState &state);
  void declareNames(SchemeState &state);
  bool declareName(SchemeState &state, const Name &name,
                   SchemeState::Entity entity);
  bool awaitsWidth(SchemeState &state, const TensorClause *clause);
  /// `first`: the place of the first of them among the scheme's tensors.
  void declareTensors(SchemeState &state, const TensorClause *clause,
                      size_t first);
  bool readTensor(const TensorClause *clause, TensorInfo &tensor, Env &env);
  bool readContracts(const TensorClause *clause, TensorInfo &tensor, Env &env);
  bool readAxes(const TensorClause *clause, std::vector<AxisInfo> &out,
                Env &env);
  std::optional<Interval> readRange(const RangeNode &range, Env &env);
  void declareClocks(SchemeState &state, const ClockClause *clause);
  void declareClock(SchemeState &state, const ClockClause *clause,
                    const ClockBinder &binder, Env &env);

  // --- SemaRunning.cpp: running sums, and what actions need of clocks
  void readRunningSums(SchemeState &state);
  void readRunningSum(SchemeState &state, ClockInfo &clock,
                      const ClockClause *clause);
  bool readsOtherToken(const Node *node, TokenId own) const;

  void checkAction(SchemeState &state, const ActionNode *action,
                   const TermClause *clause);
  bool checkGrowth(SchemeState &state, const ActionNode *block,
                   const ActionNode *place, SourceRange at, Env &env);

  // --- SemaWarnings.cpp
  void warnAbout(SchemeState &state);
  void warnUnused(SchemeState &state);
  void warnGrowing(SchemeState &state);
  void warnFuture(SchemeState &state);
  void warnEmpty(SchemeState &state);
  void warnMaskBias(SchemeState &state);
  void warnInfinite(SchemeState &state);
  void warnAbsolute(const BinaryExpr *e, Scalar a, Scalar b, const Node *made,
                    const Env &env);

  // --- SemaStack.cpp
  void checkStack(const StackItem *item);
  Scheme *useScheme(const Expr *e, Env &env, const InstanceItem *instance);
  Scheme *useItem(const Expr *e, Env &env, const Name &name,
                  llvm::ArrayRef<Argument> args, const InstanceItem *instance);
  Scheme *pickScheme(const Expr *e, Env &env);
  bool resolveUse(const Expr *e, Env &env, llvm::StringSet<> &bound);

  CheckedFile &out;
  DiagnosticList &diagnostics;
  const CheckOptions &options;
  NodeGraph &graph;

  llvm::StringMap<const Item *> items, preludeItems;
  llvm::StringSet<> loadedFiles;
  bool broken = false;

  /// Values of the file's lets outside schemes.
  std::map<std::pair<const void *, Where>, Meaning> fileLetValues;
  /// Constant results of calls, by arguments.
  llvm::StringMap<Meaning> callResults;
  /// The token of each sum over a path.
  llvm::DenseMap<const SumExpr *, TokenId> pathTokens;
  /// Schemes that were checked, by item and arguments.
  llvm::StringMap<Scheme *> knownSchemes, stackSchemes;

  /// Above 0 while a branch that is not taken, or a trial, is evaluated: errors
  /// of values (first) or all (second) are dropped.
  unsigned valuesUnchecked = 0, allUnchecked = 0;
  Diagnostic droppedMessage;
  /// Values that could not be proved to lie where they must, by rule and text:
  /// one declaration mends them all.
  llvm::StringSet<> unproved;
  uint64_t steps = 0;
  size_t vectorBytes = 0;
  unsigned depth = 0;
  bool exhausted = false;
  /// A name that only a scheme gives was read where there is none.
  bool readsScheme = false;
  llvm::StringSet<> usedSettings;
};

/// The text of an expression for a message: one line, at most 48 characters.
std::string quote(const Expr *e);
/// "w[h, …]": how an element of a tensor is written.
std::string showElement(const TensorInfo &tensor);
/// What a value is where a vector is needed, and how a tensor gives one.
std::string describeNoVector(const Meaning &value);
/// Sizes beyond it are that: too large for every use.
constexpr int64_t mostSize = int64_t(1) << 62;
/// A size for a message.
std::string printSize(int64_t size);
/// A constant for a message: "8192", "0.1", "[1, 2]".
std::string printConstant(const Node *node);
std::string printNumber(double value);
std::string printBounds(Interval range);
/// "int", "real", "bool", "action" or "clock".
llvm::StringRef getTypeWord(TypeBase base);
/// "int", "real[3]", "action[64]", "a clock", …
std::string describe(const Meaning &value);

/// Does a mask hide every key after the query (directly or through
/// definitions)?
bool impliesCausal(const Node *mask);

/// Why two actions may not commute, or "" if they provably do.
std::string findCommuteFault(const ActionNode *a, const ActionNode *b);

} // namespace torsor

#endif // TORSOR_FRONTEND_SEMA_H
