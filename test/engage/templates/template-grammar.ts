import {
  array,
  constant,
  constantFrom,
  integer,
  letrec,
  oneof,
  option,
  tuple,
  type Arbitrary,
} from 'fast-check';
import { FILTERS } from '../../../src/engage/templates/grammar/filter-names.ts';

/** Templates that need more work than a message may cost. */
export const TOO_MUCH_WORK = [
  '{% for i in (1..99999999) %}x{% endfor %}',
  '{% for i in (1..3000) %}{% for j in (1..3000) %}{{ i }}{% endfor %}{% endfor %}',
  `{% assign a = "xxxxxxxxxx" %}${'{% assign a = a | append: a %}'.repeat(40)}`,
  `{% for i in (1..1000) %}${'x'.repeat(100_000)}{% endfor %}`,
  `{% capture z %}{% for i in (1..1000) %}${'x'.repeat(100_000)}{% endfor %}{% endcapture %}{{ z | replace: "", "y" }}`,
  '{% for i in (1..2000) %}{% for j in (1..2000) %}{% endfor %}{% endfor %}',
  '{{ "%zz" | url_decode }}',
];
/** Templates that are refused before they are parsed as a whole. */
export const TOO_LARGE = [
  '{% if a %}'.repeat(4_000) + '{% endif %}'.repeat(900),
  '{{a}}'.repeat(1_001),
  '{%'.repeat(100_000),
];
/** A large template that is ordinary. */
export const LARGE = `${'<p>Hello {{ first_name }}, your code is {{ code }}</p>'.repeat(500)}${'x'.repeat(100_000)}`;

/** A scope as hostile as a player's attributes and an event's properties could make it. */
export function hostileScope(): Record<string, unknown> {
  const big = Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [`key_${i}`, `value ${i}`]));
  return {
    a: 'a'.repeat(60_000),
    spaces: ' x'.repeat(30_000),
    markup: '<'.repeat(60_000),
    words: Array.from({ length: 5_000 }, (_, i) => `w${i % 7}`),
    rows: Array.from({ length: 1_000 }, (_, i) => ({
      name: `n${i % 5}`,
      amount: i,
      tags: ['x', 'y'],
      inner: big,
    })),
    nested: Array.from({ length: 300 }, () => Array.from({ length: 100 }, () => 'deep')),
    big,
    n: 7,
    none: null,
    x: 'start',
    y: [1, 2, 3],
  };
}

const VARIABLES =
  'a spaces markup words rows nested big n none x y i i.name rows.first.inner.size big.size forloop.index'.split(
    ' ',
  );
const variable = constantFrom(...VARIABLES);
const number = constantFrom(
  '0',
  '1',
  '-1',
  '2.5',
  '3',
  '10',
  '300',
  '5000',
  '99999',
  '20000000',
  '100000000000000000',
);
const quoted = constantFrom(
  '',
  ' ',
  'a',
  'ab',
  '<',
  '%',
  '%41',
  'name',
  'amount',
  'inner.size',
  '%c',
  '%Y-%m-%d',
).chain((text) => constantFrom(1, 1, 1, 5, 100).map((times) => `"${text.repeat(times)}"`));
const middle = constantFrom(3, 200, 2_000).map((half) => `"${'a'.repeat(half)}b${'a'.repeat(half)}"`);
const range = tuple(oneof(number, variable), oneof(number, variable)).map(
  ([low, high]) => `(${low}..${high})`,
);
const value = oneof(
  { arbitrary: variable, weight: 5 },
  { arbitrary: number, weight: 2 },
  { arbitrary: quoted, weight: 3 },
  { arbitrary: middle, weight: 1 },
  { arbitrary: range, weight: 1 },
);
const filter = tuple(constantFrom(...FILTERS), array(value, { maxLength: 2 })).map(([name, args]) =>
  args.length === 0 ? name : `${name}: ${args.join(', ')}`,
);
const filtered = tuple(value, array(filter, { maxLength: 4 })).map((parts) => parts.flat().join(' | '));
const condition = array(
  tuple(value, constantFrom('==', '!=', '<', '>', '<=', '>=', 'contains'), value).map((parts) =>
    parts.join(' '),
  ),
  { minLength: 1, maxLength: 3 },
).chain((parts) => constantFrom(' and ', ' or ').map((between) => parts.join(between)));
const name = constantFrom('x', 'y', 'z');
const modifiers = tuple(
  option(constantFrom('limit: 3', 'limit: n', 'limit: 99999')),
  option(constantFrom('offset: 1', 'offset: 4000')),
  option(constant('reversed')),
).map((parts) => parts.filter((part) => part !== null).join(' '));

const { block } = letrec<{ block: string; statement: string }>((tie) => ({
  block: array(tie('statement'), { minLength: 1, maxLength: 4 }).map((parts) => parts.join('')),
  statement: oneof(
    { depthSize: 'small', withCrossShrink: true },
    filtered.map((text) => `{{ ${text} }}`),
    constantFrom(
      'text',
      ' ',
      '<p>',
      '{% raw %}{{ a }}{% endraw %}',
      '{% comment %} {% endcomment %}',
      '{% break %}',
      '{% continue %}',
    ),
    tuple(name, filtered).map(([to, text]) => `{% assign ${to} = ${text} %}`),
    // What grows when it is repeated.
    tuple(
      constantFrom(
        '{% assign x = x | append: x %}',
        '{% assign y = y | concat: y %}',
        '{% assign y = y | push: y %}',
        '{% assign y = y | concat: y | group_by: "name" %}',
        '{% assign x = x | replace: "a", x %}',
        '{% capture x %}{{ x }}{{ x }}{% endcapture %}',
      ),
      integer({ min: 1, max: 40 }),
    ).map(([text, times]) => text.repeat(times)),
    tuple(constantFrom('echo', 'cycle'), filtered).map(([tag, text]) => `{% ${tag} ${text} %}`),
    tuple(value, value).map(([group, other]) => `{% cycle ${group}: "a", ${other} %}`),
    constantFrom(
      '{% increment n %}',
      '{% decrement z %}',
      '{% liquid echo a\nassign x = a | size\necho x %}',
    ),
    tuple(name, tie('block')).map(([to, inside]) => `{% capture ${to} %}${inside}{% endcapture %}`),
    tuple(oneof(range, variable), modifiers, tie('block')).map(
      ([list, how, inside]) => `{% for i in ${list} ${how} %}${inside}{% else %}none{% endfor %}`,
    ),
    tuple(oneof(range, variable), tie('block')).map(
      ([list, inside]) => `{% tablerow i in ${list} cols:3 %}${inside}{% endtablerow %}`,
    ),
    tuple(constantFrom('if', 'unless'), condition, tie('block'), condition, integer({ min: 0, max: 30 })).map(
      ([tag, when, inside, or, times]) =>
        `{% ${tag} ${when} %}${inside}${`{% elsif ${or} %}y`.repeat(times)}{% else %}z{% end${tag} %}`,
    ),
    tuple(filtered, array(value, { minLength: 1, maxLength: 30 }), tie('block')).map(
      ([of, values, inside]) =>
        `{% case ${of} %}${values.map((one) => `{% when ${one} %}w`).join('')}{% else %}${inside}{% endcase %}`,
    ),
  ),
}));

/** Templates of every tag and filter that is allowed. */
export const templates: Arbitrary<string> = block;
