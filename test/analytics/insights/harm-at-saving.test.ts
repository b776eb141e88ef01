import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { harmOfCell } from '../../../src/analytics/insights/saving/harm.ts';
import { queryBody, readCell } from '../../../src/analytics/insights/kinds.ts';
import type { TestService, TestTenant } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { insights } from './insight-client.ts';

let service: TestService;
let tenant: TestTenant;
beforeAll(async () => {
  service = await sharedService();
  tenant = await service.newTenant();
});
afterAll(() => service.close());

const range = { from: '2026-07-01T00:00:00Z', to: '2026-07-03T00:00:00Z' };
const trend = (series: object, more: object = {}) => ({ kind: 'trend', range, series: [series], ...more });
const at_risk = { type: 'trait', field: 'custom_attributes.rg_risk', op: 'eq', value: 'strong' };
const not_at_risk = { operator: 'NOT', conditions: [at_risk] };

describe('the signs of harm of a cell', () => {
  const steps = ['bet_lost', 'deposit_confirmed', 'self_exclusion_lifted'].map((event) => ({ event }));
  const funnel = { kind: 'funnel', range, steps, within: { days: 7 } };
  const retention = { kind: 'retention', range, cohort: 'signup', returns: { event: 'withdrawal_reversed' } };
  const by = (breakdown: object) => ({ breakdown: { top: 5, ...breakdown } });
  it.each([
    [trend({ metric: 'deposits' }), {}, []],
    [trend({ metric: 'active_players' }), {}, []],
    [trend({ metric: 'wagered' }), {}, []],
    [trend({ metric: 'ggr' }), {}, [['query.series.0', 'LOSSES']]],
    [trend({ metric: 'ngr_before_deductions' }), {}, [['query.series.0', 'LOSSES']]],
    [trend({ metric: 'deposits_failed' }), {}, [['query.series.0', 'FAILED_DEPOSITS']]],
    [trend({ event: 'loss_limit_reached' }), {}, [['query.series.0', 'LIMITS_REACHED']]],
    [
      trend(
        { metric: 'credited' },
        { filter: { where: [{ property: 'reason', op: 'eq', value: 'cashback' }] } },
      ),
      {},
      [['query.series.0', 'LOSSES']],
    ],
    [
      trend({ metric: 'deposits' }, by({ by: 'player_status' })),
      { group: 'self_excluded' },
      [['cell.group', 'EXCLUDED']],
    ],
    [trend({ metric: 'deposits' }, by({ by: 'player_status' })), { group: 'active' }, []],
    [trend({ metric: 'events' }, by({ by: 'event' })), { group: 'bet_lost' }, [['cell.group', 'LOSSES']]],
    [
      trend({ event: 'bet_settled' }, by({ by: 'property', property: 'outcome' })),
      { group: 'lost' },
      [['query.series.0', 'LOSSES']],
    ],
    [
      trend({ metric: 'deposits' }, { filter: { definition: { operator: 'AND', conditions: [at_risk] } } }),
      {},
      [['query.filter.definition.conditions.0', 'AT_RISK']],
    ],
    [trend({ metric: 'deposits' }, { filter: { definition: not_at_risk } }), {}, []],
    [funnel, { step: 1 }, [['query.steps.0', 'LOSSES']]],
    [
      funnel,
      { step: 3 },
      [
        ['query.steps.0', 'LOSSES'],
        ['query.steps.2', 'EXCLUDED'],
      ],
    ],
    [retention, { cohort: range.from }, [['query.returns', 'CANCELLED_WITHDRAWALS']]],
    [{ kind: 'distribution', range, value: 'ggr' }, { first: 1, last: 1 }, [['query.value', 'LOSSES']]],
    [{ kind: 'distribution', range, value: 'deposits' }, { first: 1, last: 1 }, []],
    [{ kind: 'lifecycle', range }, { at: range.from, state: 'churned' }, []],
  ])('%j, %j', (written, cell, expected) => {
    const query = queryBody.parse(written);
    const found = harmOfCell(query, readCell(query, cell), 'feed');
    expect(found.map(({ path, code }) => [path, code])).toEqual(expected);
  });
});

const saved = async (query: object, as: string) => {
  const { status, text, data } = await insights(service, tenant, '/segment', { query, name: 'saved', as });
  expect(status, text).toBe(201);
  return data['warnings'] as { path: string; code: string; message: string }[];
};

it('a segment is saved, with the warnings of its definition as a preview has them', async () => {
  const definition = { operator: 'AND', conditions: [at_risk] };
  const query = trend({ metric: 'deposits_failed' }, { filter: { definition } });
  const warnings = await saved(query, 'live');
  expect(warnings.map(({ path, code }) => [path, code])).toEqual([
    ['definition.conditions.0', 'FAILED_DEPOSITS'],
    ['definition.conditions.1.conditions.0', 'AT_RISK'],
  ]);
  expect(warnings[0]?.message).toContain('sign of money trouble');
  expect(await saved(trend({ metric: 'deposits' }), 'live')).toEqual([]);
});

it('a list is saved, with the warnings of what selected its players', async () => {
  const warnings = await saved(trend({ metric: 'ggr' }), 'frozen');
  expect(warnings.map(({ path, code }) => [path, code])).toEqual([['query.series.0', 'LOSSES']]);
  expect(await saved(trend({ metric: 'deposits' }), 'frozen')).toEqual([]);
});
