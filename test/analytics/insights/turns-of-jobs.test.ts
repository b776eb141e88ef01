import { expect, it } from 'vitest';
import { exportJob } from '../../../src/platform/export-files/export-file.ts';
import { freezeJob } from '../../../src/analytics/insights/saving/frozen-job.ts';
import { queryBody } from '../../../src/analytics/insights/kinds.ts';

const ref = { tenant_id: 't', project_id: 'p', segment_id: 's' };
const query = queryBody.parse({ kind: 'trend', range: { last: { days: 1 } }, series: [{ metric: 'ggr' }] });

it('the first list and the first export of a tenant come before the further ones of all', () => {
  const priorities = (is_first: boolean) => [
    freezeJob(ref, { query, cell: {}, is_first }).priority,
    exportJob('insight-export', { tenant_id: 't', export_id: 'e' }, { max_attempts: 1, is_first }).priority,
  ];
  expect(priorities(true)).toEqual([-1, -1]);
  expect(priorities(false)).toEqual([0, 0]);
});
