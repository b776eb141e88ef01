import { parseArgs } from 'node:util';
import type { ReconcileReport } from '../src/reconcile/schema.ts';
import { callInternal, findInternalApi } from './service-api.ts';

const USAGE = `usage: npm run reconcile -- [--tenant-id <uuid>] [--wait-ms <n>] [--repair] [--json]

Asks the running service to recompute every player's totals from the ledger and to compare every table of ClickHouse
with its source. Prints each difference; exit 0 means 0 differences, 1 means there are some (or it could not be asked).
--repair first rebuilds the tables that differ, from Postgres and the log; what is printed is left.

The service is the one that DATA_DIR/dev-credentials.json belongs to, unless flags say otherwise:
  --base-url <url>  --internal-secret <secret>`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      'tenant-id': { type: 'string' },
      'wait-ms': { type: 'string' },
      'base-url': { type: 'string' },
      'internal-secret': { type: 'string' },
      json: { type: 'boolean' },
      repair: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  if (values.help === true) return say(USAGE);
  const api = await findInternalApi(values);
  const { data } = await callInternal<{ data: ReconcileReport }>(api, 'reconcile', {
    method: 'POST',
    body: {
      tenant_id: values['tenant-id'],
      repair: values.repair,
      wait_ms: values['wait-ms'] === undefined ? undefined : Number(values['wait-ms']),
    },
  });
  say(values.json === true ? JSON.stringify(data, null, 2) : describeReport(data));
  if (data.differences > 0) process.exitCode = 1;
}

/** The report as text; the last line gives the number of differences. */
function describeReport(report: ReconcileReport): string {
  const lines = report.listed.map(
    (d) =>
      `${(d.table ?? d.check).padEnd(16)}  tenant ${d.tenant_id}  project ${d.project_id}  player ${d.player_id}  ` +
      `${d.field}: expected ${d.expected ?? 'nothing'}, found ${d.actual ?? 'nothing'} (${d.cause})`,
  );
  const unlisted = report.differences - report.listed.length;
  if (unlisted > 0) lines.push(`… and ${unlisted} more`);
  for (const one of report.unmatched_listed)
    lines.push(
      `${one.problem}  tenant ${one.tenant_id}  project ${one.project_id}  player ${one.player_id}  ${one.event} ` +
        `${one.reference}${one.movement_id === null ? '' : ` ${one.movement_id}`} of ${one.occurred_at}`,
    );
  if (report.unmatched > 0)
    lines.push(`${report.unmatched} voids, reversals and movements that do not fit; they are no differences`);
  lines.push(
    `compared ${report.players} players of ${report.projects} projects, ${report.ledger_rows} ledger rows and ` +
      `${report.event_rows} events in ClickHouse in ${(report.duration_ms / 1000).toFixed(1)} s`,
    ...(report.repaired_projects > 0 ? [`rebuilt ${report.repaired_projects} projects in ClickHouse`] : []),
    `${report.differences} differences`,
  );
  return lines.join('\n');
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
