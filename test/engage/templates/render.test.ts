import { array, assert, constantFrom, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ApiError } from '../../../src/errors.ts';
import { playerScope, SYNTHETIC_PLAYER } from '../../../src/engage/templates/player-scope.ts';
import {
  checkTemplate,
  compileTemplate,
  isBlank,
  RenderFailed,
  renderMessage,
} from '../../../src/engage/templates/render.ts';
import { NO_MONEY } from '../../../src/engage/templates/money.ts';
import { parseExact } from '../../../src/platform/exact-json.ts';
import { runs } from '../../engines/effort.ts';
import { LARGE, TOO_LARGE, TOO_MUCH_WORK } from './template-grammar.ts';

type Source = Parameters<typeof compileTemplate>[0];
const email = (body: string, rest: Partial<Source> = {}): Source => ({
  channel: 'email',
  subject: 'S',
  preheader: null,
  body,
  data: {},
  ...rest,
});
const sms = (body: string): Source => email(body, { channel: 'sms', subject: null });
const render = (source: Source, scope: Record<string, unknown> = {}) =>
  renderMessage(compileTemplate(source), scope, NO_MONEY);
const html = (body: string, scope: Record<string, unknown> = {}) => render(email(body), scope).body;
const text = (body: string, scope: Record<string, unknown> = {}) => render(sms(body), scope).body;

function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

const HOSTILE = `<script>alert("x")</script>'&`;
const HARMLESS = '&lt;script&gt;alert(&#34;x&#34;)&lt;/script&gt;&#39;&amp;';

it.each(['2026-02-30', '2026-04-31T10:00:00Z', ' 2025-02-29 10:00', '2026-13-01'])(
  'a day that does not exist is no date for any filter: %s',
  (day) => {
    for (const filter of ["date: '%F'", "date: '%F', 'Europe/Malta'", 'date_to_xmlschema', 'date_to_rfc822'])
      expect(text(`{{ day | ${filter} }}`, { day }), filter).toBe(day);
    expect(text('{{ day | date_to_string }} {{ day | date_to_long_string }}', { day })).toBe(`${day} ${day}`);
  },
);

it('a day that exists is a date', () => {
  expect(text("{{ '2024-02-29' | date: '%F' }} {{ '2026-04-30T23:30:00Z' | date: '%F' }}")).toBe(
    '2024-02-29 2026-04-30',
  );
  expect(text("{{ 'March 1 1850' | date: '%F' }}")).toBe('1850-03-01');
});

it('numbers that a double does not hold have the digits that were sent', () => {
  const scope = parseExact('{"wei":9007199254740993,"o":{"wei":25000000000000000001},"n":[1e20]}');
  const body = '{{ wei }} {{ o }} {{ o.wei }} {{ n }}';
  const shown = '9007199254740993 {"wei":25000000000000000001} 25000000000000000001 1e20';
  expect(text(body, scope as Record<string, unknown>)).toBe(shown);
});

it.each([
  ['{% if id == 9007199254740993 %}same{% endif %}', 'same'],
  ['{% case id %}{% when 9007199254740993 %}same{% endcase %}', 'same'],
  ['{% if id > 5 and id >= o.id %}more{% endif %}', 'more'],
  ['{{ id | minus: id }}', '0'],
  ['{{ rate | divided_by: 2 }}', '6172839.061728395'],
  ['{% for one in list %}{% if one == id %}{{ one }}{% endif %}{% endfor %}', '9007199254740993'],
])('numbers that a double does not hold are compared and computed with: %s', (body, shown) => {
  const json =
    '{"id":9007199254740993,"o":{"id":9007199254740993},"rate":12345678.123456789012,"list":[9007199254740993]}';
  expect(text(body, parseExact(json) as Record<string, unknown>)).toBe(shown);
});

it.each([
  '{{ 5 | divided_by: 0 }}',
  '{{ 5 | divided_by: missing }}',
  '{{ 5 | divided_by: "abc" }}',
  '{{ 7.5 | divided_by: 0 }}',
])('a division without a divisor fails: %s', (body) => {
  expect(thrownBy(() => text(body))).toBeInstanceOf(RenderFailed);
});

describe('HTML', () => {
  it.each([
    '{{ a }}',
    '{{a}}',
    '{{- a -}}',
    '{{ a | escape }}',
    '{{ a | escape_once }}',
    '{{ a | strip }}',
    '{{ b.c }}',
    '{{ b["c"] }}',
    '{{ nobody | default: a }}',
    '{% assign x = a %}{{ x }}',
    '{% echo a %}',
    '{% cycle a, "b" %}',
    '{% liquid echo a %}',
    '{% for x in list %}{{ x }}{% endfor %}',
    '{% capture x %}{{ a }}{% endcapture %}{{ x }}',
    '{% case a %}{% when a %}{{ a }}{% endcase %}',
    '{{ list }}',
    '{{ list | first }}',
    '{{ list | join: "" }}',
    '{{ a | url_encode | url_decode }}',
    '{{ a | base64_encode | base64_decode }}',
    '{{ a | split: "z" | join: "z" }}',
  ])('escapes %s', (body) => {
    expect(html(body, { a: HOSTILE, b: { c: HOSTILE }, list: [HOSTILE] })).toBe(HARMLESS);
  });

  it('leaves the template’s own text unescaped', () => {
    const body =
      '<p class="x">{% raw %}{{ a }}{% endraw %}</p>{% capture x %}<b>{{ a }}</b>{% endcapture %}{{ x }}';
    expect(html(body, { a: '<' })).toBe('<p class="x">{{ a }}</p><b>&lt;</b>');
    expect(html('{{ a | newline_to_br }}', { a: '<\n' })).toBe('&lt;<br />\n');
    // A captured text that a filter changes afterwards is escaped like any other.
    expect(html('{% capture x %}<b>{{ a }}</b>{% endcapture %}{{ x | upcase }}', { a: '<' })).not.toContain(
      '<',
    );
    expect(html('{% capture x %}gold{% endcapture %}{% if x == "gold" %}yes{% endif %}')).toBe('yes');
  });

  it('has no filter that leaves a value unescaped', () => {
    for (const body of ['{{ a | raw }}', '{{ a | upcase | raw }}', '{% echo a | raw %}']) {
      expect(thrownBy(() => checkTemplate(email(body)))).toMatchObject({ code: 'TEMPLATE_INVALID' });
    }
    expect(thrownBy(() => html('{% cycle a | raw, a %}', { a: HOSTILE }))).toBeInstanceOf(RenderFailed);
  });

  it('escapes every value of a player, through any filters', () => {
    const filters =
      'upcase downcase capitalize strip escape newline_to_br squish reverse json inspect strip_html url_encode first last ' +
      'size xml_escape append:a prepend:a replace:"b",a remove:"/" split:""|join:a truncate:20 default:a slice:0,9 date:a ' +
      'concat:list';
    assert(
      property(
        array(constantFrom(...filters.split(' ')), { maxLength: 4 }),
        string({ unit: constantFrom('<', '>', '"', "'", '&', '/', 'b', '\n', '😀', ';') }),
        (chain, value) => {
          const source = email(`{{ a | ${['strip', ...chain].join(' | ')} }}`);
          let body: string;
          try {
            body = render(source, { a: value, list: [value] }).body;
          } catch (error) {
            expect(error).toBeInstanceOf(RenderFailed);
            return;
          }
          expect(body.replaceAll('<br />', '')).not.toMatch(/[<>"']/);
        },
      ),
      { numRuns: runs(1_000) },
    );
  });

  it('is escaped in an email’s preheader and body, not in its subject and not in a push message', () => {
    const all = { subject: '{{ a }}', preheader: '{{ a }}', data: { x: '{{ a }}' } };
    const scope = { a: '<b>&' };
    const made = render(email('{{ a }}', all), scope);
    expect(made).toMatchObject({ subject: '<b>&', preheader: '&lt;b&gt;&amp;', body: '&lt;b&gt;&amp;' });
    const push = render(email('{{ a }}', { ...all, preheader: null, channel: 'push' }), scope);
    expect(push).toMatchObject({ subject: '<b>&', preheader: null, body: '<b>&', data: { x: '<b>&' } });
    expect(text('{{ a }}', scope)).toBe('<b>&');
  });
});

describe('the rendered text', () => {
  it('has a subject on a single line', () => {
    const a = 'x\r\nBcc: y@z.example\n\n\u2028\u0000\u0007 end\r\n';
    const { subject, preheader } = render(email('b', { subject: 'Hi {{ a }}', preheader: '{{ a }}' }), { a });
    expect(subject).toBe('Hi x Bcc: y@z.example  end');
    expect(preheader).not.toMatch(/[\r\n]/);
  });

  it('contains no characters that cannot be stored', () => {
    expect(text('{{ "%00%0D%0A%1B" | url_decode }}a\tb')).toBe('\na\tb');
    expect(text('{{ "😀" | split: "" | first }}')).toBe('\uFFFD');
    expect(render(email('b', { channel: 'push', data: { x: '{{ "%00" | url_decode }}' } })).data).toEqual({
      x: '',
    });
  });

  it('shows objects as JSON and missing values as an empty text', () => {
    expect(
      text('{{ journey.context }}|{{ none }}|{{ nil }}|{{ n }}|{{ t }}', {
        journey: { context: { a: [1] } },
        n: 1.5,
        t: true,
      }),
    ).toBe('{"a":[1]}|||1.5|true');
  });

  it('cannot reach prototypes or constructors', () => {
    const body =
      '{{ constructor }}{{ a.constructor }}{{ __proto__ }}{{ a.__proto__.polluted }}{{ toString }}{{ list.push }}';
    expect(text(body, { a: {}, list: [] })).toBe('');
    text('{% assign __proto__ = "x" %}{% assign constructor = "y" %}');
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('can be blank', () => {
    expect(isBlank(render(email(' {% if a %}x{% endif %}\n')))).toBe(true);
    expect(isBlank(render(email('{{ a }}'), { a: 'x' }))).toBe(false);
    expect(isBlank(render(email('x', { subject: '{{ nobody }}\u200b ' })))).toBe(true);
    expect(isBlank(render(email('\ufeff')))).toBe(true);
    // A push may have no title.
    expect(isBlank(render(email('x', { channel: 'push', subject: '{{ nobody }}' })))).toBe(false);
  });
});

describe('missing variables', () => {
  const missing = (source: Source, scope: Record<string, unknown>) => render(source, scope).missing_variables;

  it('are those that the template reads and does not assign', () => {
    const body = `{{ a }} {{ b.c }} {{ d.e.f }} {% assign g = h %}{{ g }} {% for i in list %}{{ i.x }}{{ forloop.index }}
      {% endfor %} {% if j %}{{ k | default: l }}{% endif %} {{ m.size }} {{ n["o p"] }} {{ q[r] }} {{ list[0].s }}`;
    expect(
      missing(email(body, { subject: '{{ subject_only }}' }), {
        a: 1,
        b: { c: 0 },
        d: {},
        list: [{ s: '' }],
      }),
    ).toEqual(['d.e.f', 'h', 'j', 'k', 'l', 'm', "n['o p']", 'q', 'r', 'subject_only']);
  });

  it('are null or absent, not empty or false', () => {
    expect(missing(sms('{{ a }}{{ b }}{{ c }}{{ d }}'), { a: null, b: '', c: false, d: 0 })).toEqual(['a']);
  });
});

describe('a player', () => {
  const scope = playerScope(
    {
      ...SYNTHETIC_PLAYER,
      custom_attributes: {
        first_name: 'Zoe',
        email: 'forged@example.com',
        player: 'forged',
        journey: 1,
        bonus: 2,
      },
    },
    { context: { amount: 5 } },
  );

  it('is available at the top level and as `player`; its own fields take precedence over attributes', () => {
    const body = '{{ first_name }} {{ player.first_name }} {{ email }} {{ player.email }} {{ player.id }}';
    const { email: address, player_id } = SYNTHETIC_PLAYER;
    expect(text(body, scope)).toBe(`Zoe Zoe ${address} ${address} ${player_id}`);
    expect(text('{{ journey.context.amount }}|{{ bonus }}|{{ unsubscribe_url }}', scope)).toBe('5||');
    expect(text('{{ player.custom_attributes.email }}', scope)).toBe('forged@example.com');
  });
});

describe('totals of a player', () => {
  const scope = playerScope({
    ...SYNTHETIC_PLAYER,
    total_deposited: '12345',
    total_won: '9007199254740993',
    ggr: '-500',
  });

  it('are numbers, and exact beyond 2^53', () => {
    expect(text('{{ total_deposited }} {{ player.total_deposited | divided_by: 5 }} {{ ggr }}', scope)).toBe(
      '12345 2469 -500',
    );
    expect(text('{% if total_deposited > 12344 %}much{% endif %} {{ total_won }}', scope)).toBe(
      'much 9007199254740993',
    );
  });
});

describe('limits', () => {
  it.each(TOO_MUCH_WORK)('a template that needs too much work fails: %s', (body) => {
    const error = thrownBy(() => html(body)) as RenderFailed;
    expect(error).toBeInstanceOf(RenderFailed);
    expect(error.code).toBe('TEMPLATE_FAILED');
    expect(error.issue.path).toBe('body');
  });

  it('all fields of a message share one budget', () => {
    const costly = '{% for i in (1..1000) %}{{ i }}{{ i }}{% endfor %}';
    const data = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`field_${i}`, costly]));
    const push = (rest: Partial<Source>) => email('short', { channel: 'push', subject: null, ...rest });
    expect(render(push({ data: { field_0: costly } })).data).toHaveProperty('field_0');
    const error = thrownBy(() => render(push({ data }))) as RenderFailed;
    expect(error).toBeInstanceOf(RenderFailed);
    expect(error.issue.message).toBe('takes more work than one message may cost');
  });

  it.each(TOO_LARGE)('a template that is too large to parse is refused: %#', (body) => {
    const error = thrownBy(() => checkTemplate(email(body)));
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ code: 'TEMPLATE_INVALID', status: 422 });
  });

  it('a large ordinary template is rendered', () => {
    expect(html(LARGE, { first_name: 'Zoe', code: 'X1' })).toHaveLength(500 * 33 + 100_000);
  });
});

it.each([
  ['{{ a | where_exp: "x", "x > 1" }}', 'undefined filter: where_exp. It is not offered'],
  ['{{ a | sample }}', 'undefined filter: sample. It is not offered'],
  ['{{ a | nope }}', 'undefined filter: nope'],
  ['{% render "x" %}', 'tag "render" not found'],
  [
    '{% assign a = 1 %}'.repeat(1_001),
    'brings the template to 1001 tags, outputs and lines of liquid tags: give at most 1000',
  ],
])('a template that uses what is not offered is refused with the reason: %#', (body, reason) => {
  expect(thrownBy(() => checkTemplate(email(body)))).toMatchObject({ code: 'TEMPLATE_INVALID', status: 422 });
  expect((thrownBy(() => checkTemplate(email(body))) as ApiError).message).toContain(reason);
});

it('errors name field, line, column and tag, and no data of the player', () => {
  const error = thrownBy(() =>
    checkTemplate(email('ok\n  {{ x | nope }}', { preheader: '{% fo %}' })),
  ) as ApiError;
  expect(error.details?.issues).toEqual([
    { path: 'preheader', message: 'tag "fo" not found', line: 1, column: 1, tag: 'fo' },
    { path: 'body', message: 'undefined filter: nope', line: 2, column: 10, tag: '{{ x | nope }}' },
  ]);
  expect(error.message).toBe('preheader line 1, column 1: tag "fo" not found');
  const failed = thrownBy(() => html('{{ a | base64_decode }}', { a: 'private!' })) as RenderFailed;
  expect(JSON.stringify([failed.message, failed.issue])).not.toContain('private');
});
