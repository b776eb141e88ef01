import * as fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { runs } from '../engines/effort.ts';
import type { Answer } from '../engines/http-client.ts';
import type { Fixture, Tenant } from '../http/api-fixture.ts';
import { sharedFixture } from '../http/shared-fixture.ts';

const PATH = '/v1/tenant/config';
const UNCONFIGURED = { license_jurisdiction: null, verticals: [], kyc_model: 'none', config: {} };
const QUIET_HOURS = { start: '22:00', end: '08:00', default_timezone: 'Europe/Malta' };
const CAPS = { email: { per_day: 1, per_week: 3 }, push: { per_day: 0 } };

let fixture: Fixture;
let tenant: Tenant;

beforeAll(async () => {
  fixture = await sharedFixture();
});
afterAll(() => fixture.close());
beforeEach(async () => {
  tenant = await fixture.makeTenant();
});

const get = (session = tenant.session) => fixture.as(session, PATH);
const patch = (body: unknown, session = tenant.session) =>
  fixture.as(session, PATH, { method: 'PATCH', body });
const brief = ({ status, body }: Answer) => [status, body.error?.code];

/** Patches the config in turn; returns the final config. A GET must then return the same text as the last PATCH. */
async function configAfter(...configs: unknown[]): Promise<unknown> {
  let answer = await get();
  for (const config of configs) {
    answer = await patch({ config });
    expect(answer.status, answer.text).toBe(200);
  }
  expect((await get()).text).toBe(answer.text);
  return answer.body.data['config'];
}

/** Expects 422 VALIDATION_ERROR with issues at these paths, and an unchanged configuration. */
async function expectRefused(body: unknown, ...paths: string[]): Promise<void> {
  const before = (await get()).text;
  const answer = await patch(body);
  expect(brief(answer), JSON.stringify(body)).toEqual([422, 'VALIDATION_ERROR']);
  const issues = answer.body.error.details['issues'] as { path: string; message: string }[];
  expect(issues.map(({ path }) => path)).toEqual(paths);
  for (const { message } of issues) expect(message).toMatch(/\S/);
  expect((await get()).text).toBe(before);
}

describe('access', () => {
  test('admins and owners may read and change it, viewers, editors and API keys may not', async () => {
    const verticals = { verticals: ['poker'] };
    for (const role of ['viewer', 'editor']) {
      const session = await fixture.member(tenant.tenant_id, role);
      expect(brief(await get(session)), role).toEqual([403, 'FORBIDDEN']);
      expect(brief(await patch(verticals, session)), role).toEqual([403, 'FORBIDDEN']);
    }
    for (const credential of [tenant.api_key, 'nonsense']) {
      expect(brief(await get(credential))).toEqual([401, 'UNAUTHORIZED']);
      expect(brief(await patch(verticals, credential))).toEqual([401, 'UNAUTHORIZED']);
    }
    expect((await get()).body.data).toMatchObject(UNCONFIGURED);
    for (const role of ['admin', 'owner']) {
      const session = await fixture.member(tenant.tenant_id, role);
      expect((await patch(verticals, session)).status, role).toBe(200);
      expect((await get(session)).body.data, role).toMatchObject(verticals);
    }
  });

  test('each tenant has its own configuration', async () => {
    const other = await fixture.makeTenant();
    await patch({ license_jurisdiction: 'mga', config: { messaging: { consent_required: true } } });
    expect((await get(other.session)).body.data).toMatchObject(UNCONFIGURED);
    await patch({ kyc_model: 'dual' }, other.session);
    expect((await get()).body.data).toMatchObject({ license_jurisdiction: 'mga', kyc_model: 'none' });
  });
});

describe('reading', () => {
  test('an unconfigured tenant has the defaults, its currency and the catalogue', async () => {
    const { status, body } = await get();
    expect(status).toBe(200);
    expect(Object.keys(body)).toEqual(['data']);
    const { catalogue, ...rest } = body.data;
    expect(rest).toEqual({ ...UNCONFIGURED, base_currency: 'EUR' });
    expect(Object.keys(catalogue as object).sort()).toEqual(
      ['kyc_models', 'license_defaults', 'license_rules', 'licenses', 'rg_features', 'verticals'].sort(),
    );
  });

  test('a configured tenant shows every value as it was set', async () => {
    const values = {
      license_jurisdiction: 'ukgc',
      verticals: ['sportsbook', 'casino'],
      kyc_model: 'platform_owns',
      config: {
        rg_features: ['gamstop', 'deposit_limits'],
        messaging: { quiet_hours: QUIET_HOURS, frequency_caps: CAPS, consent_required: false },
      },
    };
    const changed = await patch(values);
    expect(changed.status, changed.text).toBe(200);
    expect(changed.body.data).toMatchObject({ ...values, base_currency: 'EUR' });
    expect((await get()).text).toBe(changed.text);
  });
});

describe('changing', () => {
  test('fields that are not sent stay, and an empty change changes nothing', async () => {
    await patch({ license_jurisdiction: 'mga', verticals: ['casino'], kyc_model: 'dual' });
    const before = await get();
    expect((await patch({})).text).toBe(before.text);
    expect((await patch({ config: {} })).text).toBe(before.text);
    await patch({ verticals: [] });
    await patch({ license_jurisdiction: null });
    expect((await get()).body.data).toMatchObject({ ...UNCONFIGURED, kyc_model: 'dual' });
  });

  test('quiet hours and frequency caps can be changed independently', async () => {
    const messaging = { quiet_hours: QUIET_HOURS, frequency_caps: CAPS };
    expect(
      await configAfter(
        { messaging: { frequency_caps: CAPS } },
        { messaging: { quiet_hours: QUIET_HOURS } },
        { rg_features: ['gamstop'] },
        { messaging: { quiet_hours: { end: '09:30' } } },
        { messaging: { frequency_caps: { sms: { per_week: 2 }, email: { per_day: 4 } } } },
      ),
    ).toEqual({
      rg_features: ['gamstop'],
      messaging: {
        quiet_hours: { ...QUIET_HOURS, end: '09:30' },
        frequency_caps: {
          ...messaging.frequency_caps,
          email: { per_day: 4, per_week: 3 },
          sms: { per_week: 2 },
        },
      },
    });
  });

  test('arrays are replaced', async () => {
    expect(
      await configAfter({ rg_features: ['gamstop', 'cool_off'] }, { rg_features: ['spelpaus'] }),
    ).toEqual({ rg_features: ['spelpaus'] });
    expect(await configAfter({ rg_features: [] })).toEqual({ rg_features: [] });
  });

  test('null removes a field, at any depth', async () => {
    const messaging = { quiet_hours: QUIET_HOURS, frequency_caps: CAPS, consent_required: true };
    const left = await configAfter(
      { rg_features: ['gamstop'], messaging },
      {
        rg_features: null,
        messaging: { consent_required: null, frequency_caps: { push: null, email: { per_day: null } } },
      },
      { messaging: { quiet_hours: null } },
    );
    expect(left).toEqual({ messaging: { frequency_caps: { email: { per_week: 3 } } } });
    expect(await configAfter({ messaging: null })).toEqual({});
    expect(await configAfter({ messaging: { quiet_hours: null } })).toEqual({ messaging: {} });
  });

  test('every value of the catalogue is accepted', async () => {
    const { catalogue } = (await get()).body.data as unknown as { catalogue: Catalogue };
    const values = (of: { value: string }[]) => of.map(({ value }) => value);
    for (const license_jurisdiction of values(catalogue.licenses)) {
      const { suggested_verticals, rg_features, kyc_model } =
        catalogue.license_defaults[license_jurisdiction] ?? ({} as LicenseDefaults);
      const filledIn = { license_jurisdiction, verticals: suggested_verticals, kyc_model };
      const answer = await patch({ ...filledIn, config: { rg_features } });
      expect(answer.status, answer.text).toBe(200);
      expect(answer.body.data).toMatchObject({ ...filledIn, config: { rg_features } });
    }
    for (const kyc_model of values(catalogue.kyc_models)) {
      expect((await patch({ kyc_model })).body.data).toMatchObject({ kyc_model });
    }
    const everything = {
      verticals: values(catalogue.verticals),
      config: { rg_features: catalogue.rg_features },
    };
    expect((await patch(everything)).body.data).toMatchObject(everything);
  });

  test('concurrent changes are all kept', async () => {
    const channels = ['email', 'sms', 'push'];
    const caps = channels.flatMap((channel) =>
      ['per_day', 'per_week'].map((window, index) => ({ channel, window, count: index + 1 })),
    );
    const bodies = [
      { license_jurisdiction: 'dgoj' },
      { verticals: ['bingo'] },
      { kyc_model: 'crm_owns' },
      { config: { rg_features: ['rgiaj'] } },
      { config: { messaging: { quiet_hours: QUIET_HOURS } } },
      { config: { messaging: { consent_required: true } } },
      ...caps.map(({ channel, window, count }) => ({
        config: { messaging: { frequency_caps: { [channel]: { [window]: count } } } },
      })),
    ];
    // First without a row to lock, then again with an existing row.
    for (let round = 0; round < 3; round++) {
      const answers = await Promise.all(bodies.map((body) => patch(body)));
      expect(answers.map(({ status }) => status)).toEqual(bodies.map(() => 200));
      const cap = { per_day: 1, per_week: 2 };
      expect((await get()).body.data).toMatchObject({
        license_jurisdiction: 'dgoj',
        verticals: ['bingo'],
        kyc_model: 'crm_owns',
        config: {
          rg_features: ['rgiaj'],
          messaging: {
            quiet_hours: QUIET_HOURS,
            consent_required: true,
            frequency_caps: { email: cap, sms: cap, push: cap },
          },
        },
      });
      await patch({ config: { messaging: null } });
    }
  });
});

describe('refusing', () => {
  const messaging = (value: unknown) => ({ config: { messaging: value } });
  const quiet = (value: unknown) => messaging({ quiet_hours: value });
  const caps = (value: unknown) => messaging({ frequency_caps: value });

  test.each<[string, unknown, ...string[]]>([
    ['an unknown licence', { license_jurisdiction: 'atlantis' }, 'license_jurisdiction'],
    ['the label of a licence', { license_jurisdiction: 'Spain (DGOJ)' }, 'license_jurisdiction'],
    ['an unknown vertical', { verticals: ['casino', 'cockfights'] }, 'verticals.1'],
    ['a vertical named twice', { verticals: ['casino', 'casino'] }, 'verticals'],
    ['no verticals at all', { verticals: null }, 'verticals'],
    ['verticals that are no array', { verticals: 'casino' }, 'verticals'],
    ['an unknown KYC model', { kyc_model: 'nobody' }, 'kyc_model'],
    ['no KYC model', { kyc_model: null }, 'kyc_model'],
    ['an unknown RG feature', { config: { rg_features: ['gamstop', 'luck'] } }, 'config.rg_features.1'],
    ['an RG feature named twice', { config: { rg_features: ['rua', 'rua'] } }, 'config.rg_features'],
    ['RG features that are no array', { config: { rg_features: { 0: 'rua' } } }, 'config.rg_features'],
    ['an unknown field', { licence: 'mga' }, 'licence'],
    ['an unknown key of config', { config: { messages: {} } }, 'config.messages'],
    ['an unknown key, also where it would be removed', { config: { messages: null } }, 'config.messages'],
    ['a deeper unknown key', quiet({ ...QUIET_HOURS, begin: '1' }), 'config.messaging.quiet_hours.begin'],
    ['an unknown channel', caps({ fax: { per_day: 1 } }), 'config.messaging.frequency_caps.fax'],
    ['an unknown window', caps({ sms: { per_hour: 1 } }), 'config.messaging.frequency_caps.sms.per_hour'],
    ['config that is no object', { config: [] }, 'config'],
    ['config that is null', { config: null }, 'config'],
    ['a body that is no object', [], ''],
    ['consent as a text', messaging({ consent_required: 'yes' }), 'config.messaging.consent_required'],
    [
      'everything wrong at once',
      { license_jurisdiction: 1, verticals: [1], kyc_model: 1, config: { rg_features: [1] } },
      'license_jurisdiction',
      'verticals.0',
      'kyc_model',
      'config.rg_features.0',
    ],
  ])('%s', async (_what, body, ...paths) => {
    await patch({ license_jurisdiction: 'mga', config: { rg_features: ['cool_off'] } });
    await expectRefused(body, ...paths);
  });

  test('invalid times', async () => {
    for (const start of [
      '24:00',
      '8:00',
      '08:60',
      '0800',
      '08:00:00',
      ' 08:00',
      '08:00 ',
      '',
      8,
      true,
      null,
    ]) {
      await expectRefused(quiet({ ...QUIET_HOURS, start }), 'config.messaging.quiet_hours.start');
    }
    for (const end of ['00:00', '23:59', '22:00']) {
      expect((await patch(quiet({ ...QUIET_HOURS, end }))).status, end).toBe(200);
    }
  });

  test('invalid time zones', async () => {
    const path = 'config.messaging.quiet_hours.default_timezone';
    for (const zone of ['Mars/Olympus', '+02:00', 'UTC+2', '', 'Europe/Malta ', 1, 'Z'.repeat(10_000)]) {
      await expectRefused(quiet({ ...QUIET_HOURS, default_timezone: zone }), path);
    }
    for (const default_timezone of ['UTC', 'America/Argentina/Buenos_Aires']) {
      expect((await patch(quiet({ ...QUIET_HOURS, default_timezone }))).status).toBe(200);
    }
  });

  test('invalid caps', async () => {
    for (const per_day of [-1, 1.5, '3', true, 1_000_001, [], {}]) {
      await expectRefused(caps({ email: { per_day } }), 'config.messaging.frequency_caps.email.per_day');
    }
    await expectRefused(caps({ email: 3 }), 'config.messaging.frequency_caps.email');
    expect(
      (await patch(caps({ email: { per_day: 0 }, sms: { per_week: 1_000_000 }, push: {} }))).status,
    ).toBe(200);
  });

  test('quiet hours that would be incomplete after the merge', async () => {
    const path = (field: string) => `config.messaging.quiet_hours.${field}`;
    await expectRefused(quiet({ start: '22:00' }), path('end'), path('default_timezone'));
    expect((await patch(quiet({ start: '22:00' }))).body.error.message).toBe(
      `${path('end')}: must be set, too`,
    );
    await expectRefused(quiet({}), path('start'), path('end'), path('default_timezone'));
    await patch(quiet(QUIET_HOURS));
    expect((await patch(quiet({ start: '21:00' }))).status).toBe(200);
    await expectRefused(quiet({ default_timezone: null }), path('default_timezone'));
  });

  test('fields that callers cannot write', async () => {
    const { data } = (await get()).body;
    for (const field of ['base_currency', 'catalogue']) {
      const answer = await patch({ kyc_model: 'dual', [field]: data[field] });
      expect(brief(answer)).toEqual([422, 'FIELD_NOT_WRITABLE']);
      expect(answer.body.error.details['issues']).toMatchObject([{ path: field }]);
    }
    expect((await get()).body.data).toMatchObject({ ...UNCONFIGURED, base_currency: 'EUR' });
  });

  test('prototype keys, excessive depth and size', async () => {
    const raw = async (text: string) =>
      brief(await fixture.as(tenant.session, PATH, { method: 'PATCH', raw: text }));
    const malformed = [400, 'BODY_MALFORMED'];
    expect(await raw('{"config":{"__proto__":{"rg_features":["rua"]}}}')).toEqual(malformed);
    expect(await raw('{"config":{"messaging":{"constructor":{"__proto__":{"a":1}}}}}')).toEqual(malformed);
    expect(await raw(`{"config":${'{"messaging":'.repeat(5_000)}1${'}'.repeat(5_001)}`)).toEqual(malformed);
    await expectRefused({ config: { constructor: { a: 1 } } }, 'config.constructor');
    await expectRefused({ config: { toString: null } }, 'config.toString');
    const many = Array.from({ length: 10_000 }, () => 'rua');
    expect(brief(await patch({ config: { rg_features: many } }))).toEqual([422, 'VALIDATION_ERROR']);
    expect(({} as Record<string, unknown>)['rg_features']).toBeUndefined();
    expect((await get()).body.data).toMatchObject(UNCONFIGURED);
  });

  test('any config is accepted or refused with a reason, and the stored one is always valid', async () => {
    const anything = fc.oneof(
      fc.constantFrom<unknown>(null, 0, 7, -1, '', '23:15', 'UTC', true, [], ['rua'], {}, { per_day: 1 }),
      fc.jsonValue({ maxDepth: 2 }),
    );
    const optional = { requiredKeys: [] as [] };
    const channel = fc.oneof(anything, fc.record({ per_day: anything, per_week: anything }, optional));
    const hours = fc.record({ start: anything, end: anything, default_timezone: anything }, optional);
    const rules = fc.record(
      {
        quiet_hours: fc.oneof(anything, hours, fc.constant(QUIET_HOURS)),
        frequency_caps: fc.oneof(anything, fc.record({ email: channel, sms: channel }, optional)),
        consent_required: anything,
      },
      optional,
    );
    const config = fc.record({ rg_features: anything, messaging: fc.oneof(anything, rules) }, optional);
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(config, async (sent) => {
        const before = (await get()).text;
        const answer = await patch({ config: sent });
        const now = await get();
        if (answer.status === 200) {
          accepted++;
          expect(now.text).toBe(answer.text);
          // The stored config is valid by itself: an unconfigured tenant accepts it as a whole.
          await patch({ config: { rg_features: null, messaging: null } });
          const again = await patch({ config: now.body.data['config'] });
          expect([again.status, again.text]).toEqual([200, now.text]);
        } else {
          expect([400, 422], answer.text).toContain(answer.status);
          expect(now.text).toBe(before);
        }
      }),
      { numRuns: runs(300) },
    );
    expect(accepted).toBeGreaterThan(0);
  });
});

interface LicenseDefaults {
  suggested_verticals: string[];
  rg_features: string[];
  kyc_model: string;
  hint: string;
}
interface Catalogue {
  licenses: { value: string; label: string }[];
  verticals: { value: string; label: string }[];
  kyc_models: { value: string; label: string }[];
  rg_features: string[];
  license_defaults: Record<string, LicenseDefaults>;
}

describe('the catalogue', () => {
  test('is consistent', async () => {
    const { catalogue } = (await get()).body.data as unknown as { catalogue: Catalogue };
    const { licenses, verticals, kyc_models, rg_features, license_defaults } = catalogue;
    const values = (of: { value: string }[]) => of.map(({ value }) => value);
    expect(values(kyc_models).sort()).toEqual(['crm_owns', 'dual', 'none', 'platform_owns']);
    expect(values(licenses).length).toBeGreaterThan(20);
    for (const labelled of [licenses, verticals, kyc_models]) {
      expect(new Set(values(labelled)).size).toBe(labelled.length);
      expect(new Set(labelled.map(({ label }) => label)).size).toBe(labelled.length);
      for (const entry of labelled) {
        expect(Object.keys(entry).sort()).toEqual(['label', 'value']);
        expect(entry.value).toMatch(/^[a-z][a-z_]*$/);
        expect(entry.label).toMatch(/^\S.*\S$/);
      }
    }
    expect(new Set(rg_features).size).toBe(rg_features.length);
    expect(Object.keys(license_defaults).sort()).toEqual(values(licenses).sort());
    for (const [license, defaults] of Object.entries(license_defaults)) {
      const { suggested_verticals, hint, ...rest } = defaults;
      expect(Object.keys(rest).sort(), license).toEqual(['kyc_model', 'rg_features']);
      expect(values(verticals), license).toEqual(expect.arrayContaining(suggested_verticals));
      expect(rg_features, license).toEqual(expect.arrayContaining(rest.rg_features));
      expect(values(kyc_models), license).toContain(rest.kyc_model);
      for (const list of [suggested_verticals, rest.rg_features]) {
        expect(list.length, license).toBeGreaterThan(0);
        expect(new Set(list).size, license).toBe(list.length);
      }
      expect(rest.rg_features, license).toContain('self_exclusion');
      expect(hint, license).toMatch(/^[A-Z].{30,}\.$/);
    }
  });

  test('every responsible-gambling feature belongs to the defaults of a licence', async () => {
    const { catalogue } = (await get()).body.data as unknown as { catalogue: Catalogue };
    const named = Object.values(catalogue.license_defaults).flatMap(({ rg_features }) => rg_features);
    expect(catalogue.rg_features.filter((feature) => !named.includes(feature))).toEqual([]);
  });
});
