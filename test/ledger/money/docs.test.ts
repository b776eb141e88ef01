import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { definitionOf, type EventDefinition } from '../../../src/ingest/events/catalogue.ts';
import { MONEY_EVENTS } from '../../../src/ledger/money/ledger.ts';
import { packageRoot } from '../../../src/package-root.ts';
import { code, expectSections, table } from '../../doc-sections.ts';
import { call } from '../../engines/http-client.ts';
import { folded, type TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { openTerminal, stepsOf } from '../../engines/terminal.ts';
import { until } from '../../engines/until.ts';

// docs/feeds.md repeats facts of the catalogue, and says what its commands count. UPDATE_GOLDEN=1 writes its generated
// section.

const PAGE = 'docs/feeds.md';

let service: TestService;
let work_dir: string;
beforeAll(async () => {
  service = await sharedService();
  work_dir = await mkdtemp(join(tmpdir(), 'engagement-feeds-'));
});
afterAll(async () => {
  await service.close();
  await rm(work_dir, { recursive: true, force: true });
});

it('docs/feeds.md agrees with the catalogue', () => expectSections(PAGE, { events }));

/** Money events that count nothing: the page names them. */
const COUNTING_NOTHING: ReadonlySet<string> = new Set([
  'deposit_initiated',
  'deposit_failed',
  'withdrawal_requested',
  'withdrawal_failed',
]);

/** The properties of the events that count, and the values of those that have a list of them. */
function events(): string {
  const rows = new Map<string, string[]>();
  const values = new Map<string, string>();
  for (const event of MONEY_EVENTS) {
    const definition = definitionOf(event);
    if (definition === undefined || COUNTING_NOTHING.has(event)) continue;
    const properties = [listed(definition.required), listed(optionalOf(definition))].join(' | ');
    rows.set(properties, [...(rows.get(properties) ?? []), event]);
    for (const [name, schema] of Object.entries(definition.properties)) {
      if (Array.isArray(schema['enum'])) values.set(name, listed(schema['enum'] as string[]));
    }
  }
  return [
    table(
      ['Event', 'Required', 'Optional'],
      [...rows].map(([properties, names]) => [listed(names), ...properties.split(' | ')]),
    ),
    table(
      ['Property', 'Values'],
      [...values].map(([name, list]) => [code(name), list]),
    ),
  ].join('\n\n');
}

const listed = (names: readonly string[]) => names.map(code).join(', ');
const optionalOf = ({ required, properties }: EventDefinition) =>
  Object.keys(properties).filter((name) => !required.includes(name));

const TOTALS_OF_NOTHING = {
  total_deposited: 0,
  total_withdrawn: 0,
  total_wagered: 0,
  total_won: 0,
  bet_count: 0,
  total_bonus_wagered: 0,
  total_bonus_won: 0,
  total_credited: 0,
  total_debited: 0,
  pending_conversions: 0,
};

it('the commands of docs/feeds.md count what it says', async () => {
  const steps = stepsOf(await readFile(join(packageRoot, PAGE), 'utf8'));
  const type = await openTerminal(work_dir, service);
  await type(
    `KEY='Authorization: Bearer ${service.api_key}'; SESSION='Authorization: Bearer ${service.session_token}'; JSON='Content-Type: application/json'`,
  );
  let compared = 0;
  for (const { command, shown } of steps) {
    if (shown === undefined) {
      expect(await type(command)).toMatch(/"accepted":true|"accepted":[1-9]\d*,"rejected":\[\]/);
      await folded(service.platform);
      const stated = statedTotals(command);
      expect(Object.keys(stated), command).not.toEqual([]);
      for (const [player, totals] of Object.entries(stated)) {
        expect(await totalsOf(player, Object.keys(totals)), player).toEqual({
          ...TOTALS_OF_NOTHING,
          ...totals,
        });
        compared++;
      }
    } else {
      await until(`${command} prints ${shown}`, async (saw) => saw(await type(command)) === shown);
    }
  }
  expect(compared).toBeGreaterThanOrEqual(15);
});

/** What the comments of a command say that its players have then: `# "player": { "total": 1 }`. */
function statedTotals(command: string): Record<string, Record<string, number>> {
  const lines = [...command.matchAll(/^# ("[^"]+": \{.*\})$/gm)].map(([, line]) => line);
  return JSON.parse(`{${lines.join(',')}}`) as Record<string, Record<string, number>>;
}

/** The totals of the player with this anonymous_id, and the fields `more`. */
async function totalsOf(anonymous_id: string, more: readonly string[]): Promise<Record<string, unknown>> {
  const read = (path: string) => call(`${service.base_url}/v1/players/${path}`, service.session_token);
  const found = (await read(`search?q=${anonymous_id}`)).data[0]?.['id'];
  const player = (await read(String(found))).data;
  return Object.fromEntries([...Object.keys(TOTALS_OF_NOTHING), ...more].map((name) => [name, player[name]]));
}
