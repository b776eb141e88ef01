// A rule of oxlint for test files: no bound of wall time stands outside the project `time`. A busy machine breaks one
// there, however generous it is. Date.now makes timestamps; it measures nothing.

const MEASURING = new Set(['performance.now', 'process.hrtime', 'process.cpuUsage']);

const nameOf = ({ object, property, computed }) =>
  !computed && object.type === 'Identifier' ? `${object.name}.${property.name}` : '';
const isDateNow = (node) =>
  node.type === 'CallExpression' &&
  node.callee.type === 'MemberExpression' &&
  nameOf(node.callee) === 'Date.now';

/** The expression is a reading of Date.now, or a variable that holds one. */
function isReading(node, context) {
  if (isDateNow(node)) return true;
  if (node.type !== 'Identifier') return false;
  for (let scope = context.sourceCode.getScope(node); scope !== null; scope = scope.upper) {
    const found = scope.set.get(node.name);
    if (found !== undefined) return found.defs.some(({ node: { init } }) => init != null && isDateNow(init));
  }
  return false;
}

/** The node is part of what `expect(…).toBe(…)` compares, on either side; not an argument of another call there. */
function isCompared(node) {
  let at = node.parent;
  while (at != null && at.type !== 'CallExpression' && !at.type.includes('Function')) at = at.parent;
  if (at == null || at.type !== 'CallExpression') return false;
  if (at.callee.type === 'MemberExpression' && nameOf(at.callee).startsWith('Math.')) return isCompared(at);
  let { callee } = at;
  while (callee.type === 'MemberExpression' || callee.type === 'CallExpression')
    callee = callee.type === 'MemberExpression' ? callee.object : callee.callee;
  return callee.type === 'Identifier' && callee.name === 'expect';
}

const noWallTime = {
  create(context) {
    const report = (node, what) =>
      context.report({
        node,
        message: `${what} in a test outside the project time: count steps, inject the clock, or move the bound to a *.time.test.ts.`,
      });
    return {
      MemberExpression(node) {
        if (MEASURING.has(nameOf(node))) report(node, nameOf(node));
      },
      CallExpression(node) {
        if (isDateNow(node) && isCompared(node)) report(node, 'Date.now in an expectation');
      },
      BinaryExpression(node) {
        const { operator, left, right } = node;
        if (operator === '-' && isReading(left, context) && isReading(right, context))
          report(node, 'a duration by Date.now');
      },
    };
  },
};

export default { meta: { name: 'tests' }, rules: { 'no-wall-time': noWallTime } };
