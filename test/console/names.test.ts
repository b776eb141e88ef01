import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { names } from '../../console/src/messages/en/names.ts';
import { overview } from '../../console/src/messages/en/overview.ts';
import { players } from '../../console/src/messages/en/players.ts';
import { EVIDENCE, RULE_POINTS } from '../../src/tenants/licence/rule.ts';
import { SEND_STATUSES } from '../../src/analytics/message-status.ts';
import { DEAD_LETTER_REASONS } from '../../src/ingest/events/envelope.ts';
import { packageRoot } from '../../src/package-root.ts';
import { KYC_STATUSES } from '../../src/protection/kyc/decide.ts';
import { MATCHED_IDS } from '../../src/players/profile/search.ts';
import { CHANNELS } from '../../src/tenants/config/channels.ts';
import type { Fixture, Tenant } from '../http/api-fixture.ts';
import { sharedFixture } from '../http/shared-fixture.ts';

// Codes of the service are shown in words.

let fixture: Fixture;
let tenant: Tenant;
beforeAll(async () => {
  fixture = await sharedFixture();
  tenant = await fixture.makeTenant();
});
afterAll(() => fixture.close());

type Named = { name: string }[];
const namesOf = (rows: unknown) => (rows as Named).map(({ name }) => name).toSorted();
const read = async (path: string) => (await fixture.as(tenant.session, path)).body.data;

test.each<[string, Readonly<Record<string, string>>, readonly string[]]>([
  ['channel', names.channels, CHANNELS],
  ['status of a message', overview.statuses, SEND_STATUSES],
  ['kind of id', names.ids, MATCHED_IDS],
  ['KYC status', players.kycStatuses, KYC_STATUSES],
  ['place of a rule', names.rulePoints, RULE_POINTS],
  ['kind of evidence', names.evidence, EVIDENCE],
  ['reason of a dead letter', names.rejections, DEAD_LETTER_REASONS],
])('every %s has a word, and no other', (_, table, codes) => {
  expect(Object.keys(table).toSorted()).toEqual([...codes].toSorted());
});

test('every consumer and queue of the screen of the system has a name, and no other', async () => {
  const system = await read('/v1/system');
  expect(Object.keys(names.consumers).toSorted()).toEqual(namesOf(system['consumers']));
  expect(Object.keys(names.queues).toSorted()).toEqual(namesOf(system['queues']));
});

test('every tool of responsible gaming and KYC model has a name, and no other', async () => {
  const { rg_features, kyc_models } = (await read('/v1/tenant/config'))['catalogue'] as {
    rg_features: string[];
    kyc_models: { value: string }[];
  };
  expect(Object.keys(names.rgFeatures).toSorted()).toEqual(rg_features.toSorted());
  expect(Object.keys(names.kycModels).toSorted()).toEqual(kyc_models.map(({ value }) => value).toSorted());
});

test('a player is said to be found by words', () => {
  expect(MATCHED_IDS.map((id) => players.matchedBy(id)).filter((text) => text.includes('_'))).toEqual([]);
});

/** Fields of answers whose values are codes. */
const CODED =
  'channel|status|kyc_status|kyc_model|error_code|code|verdict|matched_by|severity|evidence|reason';
/** A cell or a child of an element that is such a field and nothing else. */
const BARE = [
  new RegExp(`cell: \\(\\{ (${CODED}) \\}\\) => \\1\\b(?!\\])`),
  new RegExp(`cell: \\((row)\\) => row\\.(${CODED})\\s*[,}]`),
  new RegExp(`>\\{(?:\\w+\\.)?(${CODED}|source)\\}</Badge>`),
  new RegExp(`cells: \\[(?:(?!\\n\\s*\\]).)*?\\n\\s+(?:row\\.)?(${CODED})(?:\\.join\\([^)]*\\))?,\\n`, 's'),
  new RegExp('`\\$\\{(?:code|error_code|channel|matched_by)\\} '),
];

test('no screen shows a code as it is', async () => {
  const root = join(packageRoot, 'console/src');
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const found = await Promise.all(
    entries
      .filter((entry) => entry.isFile() && entry.name.endsWith('.tsx'))
      .map(async ({ parentPath, name }) => {
        const text = await readFile(join(parentPath, name), 'utf8');
        return BARE.flatMap((pattern) => {
          const hit = pattern.exec(text)?.[0].trim();
          return hit === undefined ? [] : [`${name}: ${hit}`];
        });
      }),
  );
  expect(found.flat()).toEqual([]);
});
