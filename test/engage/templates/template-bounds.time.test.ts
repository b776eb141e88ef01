import { assert, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  compileTemplate,
  RenderFailed,
  renderMessage,
  type TemplateSource,
} from '../../../src/engage/templates/render.ts';
import { NO_MONEY } from '../../../src/engage/templates/money.ts';
import { ApiError } from '../../../src/errors.ts';
import { EFFORT, runs } from '../../engines/effort.ts';
import { medianCost } from '../../cost.ts';
import { hostileScope, LARGE, templates, TOO_LARGE, TOO_MUCH_WORK } from './template-grammar.ts';

/** Nothing that a tenant writes may hold the event loop longer. */
const BOUND_MS = 50;
const RUNS = runs(1_000, { nightly: 20_000 });

const source = (body: string, channel: 'email' | 'sms' = 'email') =>
  ({ channel, subject: channel === 'email' ? 'S' : null, preheader: null, body, data: {} }) as const;

const costMs = (work: () => unknown) => medianCost(work, BOUND_MS);

const scope = hostileScope();

/** What became of a template: its cost, and whether it was refused, failed or was rendered. */
const costOf = (body: string, channel: 'email' | 'sms') => costOfSource(source(body, channel));
function costOfSource(template: TemplateSource) {
  let end = 'rendered';
  let compiled: ReturnType<typeof compileTemplate> | undefined;
  const compile_ms = costMs(() => {
    try {
      compiled = compileTemplate(template);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      end = 'refused';
    }
  });
  const render_ms = costMs(() => {
    if (compiled === undefined) return;
    try {
      renderMessage(compiled, { ...scope }, NO_MONEY);
    } catch (error) {
      if (!(error instanceof RenderFailed)) throw error;
      end = 'failed';
    }
  });
  return { compile_ms, render_ms, end };
}

it(
  `no template of the grammar takes over ${BOUND_MS} ms, to compile or to render (${RUNS} templates)`,
  () => {
    const ends = new Map<string, number>();
    const slowest = { compile_ms: 0, render_ms: 0, body: '' };
    assert(
      property(templates, (body) => {
        const { compile_ms, render_ms, end } = costOf(body, body.length % 4 === 0 ? 'sms' : 'email');
        ends.set(end, (ends.get(end) ?? 0) + 1);
        slowest.compile_ms = Math.max(slowest.compile_ms, compile_ms);
        if (render_ms > slowest.render_ms) Object.assign(slowest, { render_ms, body });
        expect(compile_ms).toBeLessThan(BOUND_MS);
        expect(render_ms).toBeLessThan(BOUND_MS);
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
    if (EFFORT === 'nightly') console.log(slowest, ends);
    // The grammar is worth its name only if many of its templates are rendered, and many reach the limit.
    expect(ends.get('rendered') ?? 0).toBeGreaterThan(RUNS / 5);
    expect(ends.get('failed') ?? 0).toBeGreaterThan(RUNS / 20);
  },
  120_000 + RUNS * 100,
);

describe('a hostile template', () => {
  const loop = (inside: string, times = 100_000) => `{% for i in (1..${times}) %}${inside}{% endfor %}`;
  const doubled = (text: string) => text.repeat(40);
  it.each([
    ['{% assign r = (1..100000) %}{{ r | where_exp: "a", "r contains a" }}', 'refused'],
    ['{{ y | map: "a" | sample }}', 'refused'],
    ['{% for i in (-100000000000000000..-99999999999999990) %}x{% endfor %}', 'rendered'],
    ['{% assign r = (99999999999999990..100000000000000000) %}', 'rendered'],
    ['{% assign r = (1..1000000) %}', 'failed'],
    [loop('{{ i }}'), 'failed'],
    [loop('{% if i == 1 %}{% elsif false %}{% elsif false %}{% elsif false %}{% endif %}', 3_000), 'failed'],
    [`{% if none %}${'{% elsif false %}'.repeat(900)}{% endif %}`, 'rendered'],
    [loop(`{% case i %}${'{% when 0 %}'.repeat(900)}{% endcase %}`, 5_000), 'failed'],
    [`{% case words %}${'{% when words %}'.repeat(900)}{% endcase %}`, 'failed'],
    [loop('{{ big.size }}', 20_000), 'failed'],
    [loop('{{ rows | where: "inner.size" | size }}', 20_000), 'failed'],
    [loop('{% for j in words offset: 1 limit: 1 %}{% endfor %}', 20_000), 'failed'],
    [loop('{{ i | date: "%A %B %c" }}', 20_000), 'failed'],
    [loop('{{ i | date: "%Y", "Europe/Malta" }}', 20_000), 'failed'],
    [`{{ n | date: "${'%c'.repeat(30_000)}" }}`, 'refused'],
    [`{{ n | date: "${'%c'.repeat(120)}" }}`, 'failed'],
    ['{{ n | date: "%999999999Y" }}', 'failed'],
    [
      `{% assign b = a | slice: 0, 9000 | append: "b" | append: a %}{% if a contains b %}{% endif %}{{ a | replace: b, "" }}`,
      'failed',
    ],
    [doubled('{% assign x = x | append: x %}'), 'failed'],
    [`${doubled('{% assign y = y | push: y %}')}{{ y }}`, 'failed'],
    [`${doubled('{% assign y = y | push: y %}')}{% cycle y: "a" %}`, 'failed'],
    [`${doubled('{% assign y = y | push: y %}')}{% if y == y %}{% endif %}`, 'failed'],
    [`${doubled('{% assign y = y | push: y %}')}{{ y | plus: 1 }}{{ y | json }}`, 'failed'],
    [`${doubled('{% assign y = y | concat: y | group_by: "z" %}')}{{ y | json }}`, 'failed'],
    ['{{ markup }}', 'rendered'],
    ['{{ a | split: "" | join: a }}', 'failed'],
    ['{{ words | sort_natural | uniq | reverse | join: ", " }}', 'rendered'],
    [`{{ a | where: "${'x.'.repeat(200)}" }}`, 'failed'],
    ['{{ words | where: "x[(1..99999)]" }}', 'failed'],
    ['{{ spaces | squish | slugify | url_encode | escape }}', 'failed'],
    ...TOO_MUCH_WORK.map((body) => [body, 'failed']),
    ...TOO_LARGE.map((body) => [body, 'refused']),
    [LARGE, 'rendered'],
  ])('is within the bound: %#', (body, end) => {
    const cost = costOf(body, 'email');
    expect(cost.end).toBe(end);
    expect(cost.compile_ms).toBeLessThan(BOUND_MS);
    expect(cost.render_ms).toBeLessThan(BOUND_MS);
  });

  /** Just under what one tag, and all tags together, may be long. */
  const TAG = 8_100;
  const twice = (tag: string) => tag.repeat(2);
  it.each([
    ['many outputs', '{{a}}'.repeat(50_000)],
    ['the most outputs', '{{ a.b | append: c }}x'.repeat(1_000)],
    ['the most blocks', '{% if a %}{% endif %}'.repeat(500)],
    ['many filters', `{{ a${' | append: b'.repeat(20_000)} }}`],
    ['the most filters', twice(`{{ a${' | append: b'.repeat(TAG / 12)} }}`)],
    ['the most operands', twice(`{% if a${' or b.c'.repeat(TAG / 7)} %}{% endif %}`)],
    ['the longest path', twice(`{{ a${'.b'.repeat(TAG / 2)} }}`)],
    ['the deepest index', twice(`{{ a${'[b'.repeat(TAG / 3)}${']'.repeat(TAG / 3)} }}`)],
    ['the most lines', twice(`{% liquid ${'echo a\n'.repeat(332)} %}`)],
    ['many lines', twice(`{% liquid ${'echo a\n'.repeat(TAG / 7)} %}`)],
    ['many tags not closed', '{%'.repeat(100_000)],
    ['deep nesting', '{% if a %}'.repeat(500) + '{% endif %}'.repeat(500)],
    ['raw', `{% raw %}${'{{'.repeat(100_000)}`],
    ['spaces', `{{ a -}}${' '.repeat(250_000)}{{- a }}`],
    ['arguments', twice(`{% cycle ${'a,'.repeat(TAG / 2)} a %}`)],
    ['quotes', twice(`{{ ${'"'.repeat(TAG)} }}`)],
    ['strings', twice(`{{ ${'"a"|'.repeat(TAG / 4)} }}`)],
    ['colons', twice(`{{ a | default: ${'x:1,'.repeat(TAG / 4)} y:1 }}`)],
    ['ranges', twice(`{{ ${'('.repeat(TAG)} }}`)],
  ])('compiles or is refused within the bound: %s', (_what, body) => {
    expect(
      costMs(() => {
        try {
          compileTemplate(source(body));
        } catch (error) {
          if (!(error instanceof ApiError)) throw error;
        }
      }),
    ).toBeLessThan(BOUND_MS);
  });

  const fill = (part: string) => part.repeat(4_096 / part.length);
  it.each([
    ['outputs', fill('{{ a.b | append: c }}x'), 'refused'],
    ['blocks', fill('{% if a %}{% endif %}'), 'refused'],
    ['filters', `{{ a${fill(' | append: b').slice(0, 4_080)} }}`, 'refused'],
    ['paths', `{{ a${'.b'.repeat(2_044)} }}`, 'refused'],
    ['a literal', `{{ "${'x'.repeat(4_080)}" }}`, 'refused'],
    ['text', 'x'.repeat(4_096), 'rendered'],
    ['one output', `{{ first_name }}${'x'.repeat(4_080)}`, 'rendered'],
  ])('with 50 full data fields is within the bound: %s', (_what, text, end) => {
    const data = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`field_${n}`, text]));
    const whole = { ...source('{{ first_name }}', 'sms'), channel: 'push', subject: 'S', data } as const;
    const cost = costOfSource(whole);
    expect(cost.end).toBe(end);
    expect(cost.compile_ms).toBeLessThan(BOUND_MS);
    expect(cost.render_ms).toBeLessThan(BOUND_MS);
  });
});
