import { parseArgs } from 'node:util';
import { EXPORTED_TABLES, isOfTime, type ExportedTable } from '../src/analytics/export/tables.ts';
import { daysOf, ExportRefused, MAX_DAYS } from './export/days.ts';
import { partsOf, runExport } from './export/run.ts';
import { ProgressBar } from './progress-bar.ts';
import { count, say } from './say.ts';
import { findInternalApi, findService } from './service-api.ts';

const USAGE = `usage: npm run export -- --table <name> [--from <date> --to <date>] [flags]

Writes tables of ClickHouse as Parquet files, through the running service (docs/export.md). A run that was stopped or
killed leaves no half files; the same command goes on with what is missing.

  --table <name>     ${EXPORTED_TABLES.join(', ')}; may be repeated
  --from, --to       the first and the last day of UTC, at most ${MAX_DAYS} days; for events and message_sends.
                     players and segment_members are exported as they are now
  --project <uuid>   a project of the tenant; may be repeated
  --tenant <uuid>    the tenant
  --out <folder>     where the files go (default: export)
  --again            also days that were exported before

Tenant and project are those of DATA_DIR/dev-credentials.json unless flags say otherwise, and so is the service:
  --base-url <url>  --internal-secret <secret>

Exit code: 0 when everything was written, 1 when the export stopped, 2 when the command line cannot be used.`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      table: { type: 'string', multiple: true },
      from: { type: 'string' },
      to: { type: 'string' },
      project: { type: 'string', multiple: true },
      tenant: { type: 'string' },
      out: { type: 'string', default: 'export' },
      again: { type: 'boolean', default: false },
      'base-url': { type: 'string' },
      'internal-secret': { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help === true) return say(USAGE);
  const tables = tablesOf(values.table);
  const has_range = values.from !== undefined || values.to !== undefined;
  const days = tables.some(isOfTime) ? daysOf(values.from, values.to) : [];
  if (has_range && days.length === 0)
    throw new ExportRefused(`${tables.join(' and ')} take no --from and --to`);
  const { kept } = await findService(values);
  const tenant_id = values.tenant ?? kept?.tenant_id;
  const project_ids = values.project ?? (values.tenant === undefined && kept ? [kept.project_id] : []);
  if (tenant_id === undefined || project_ids.length === 0)
    throw new ExportRefused('give --tenant and --project');
  const api = await findInternalApi(values);
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => stop.abort(new Error(`stopped by ${signal}`)));
  const chosen = { tenant_id, project_ids: [...new Set(project_ids)], tables, days, now_ms: Date.now() };
  const done = { rows: 0, files: 0, kept: 0 };
  const bar = new ProgressBar('exporting', partsOf(chosen).length, (seconds) => {
    const rate = Math.round(done.rows / Math.max(seconds, 0.001));
    return `${count(done.rows)} rows, ${count(rate)}/s, ${count(done.files)} files, ${count(done.kept)} days kept`;
  });
  await runExport({
    ...chosen,
    api,
    out: values.out,
    again: values.again,
    stop: stop.signal,
    onPart: ({ rows, files, is_kept }) => {
      done.rows += rows;
      done.files += files;
      done.kept += is_kept ? 1 : 0;
      bar.advance(1);
    },
  });
  say(`${count(done.rows)} rows in ${count(done.files)} files below ${values.out}`);
}

function tablesOf(names: readonly string[] = []): ExportedTable[] {
  const tables = EXPORTED_TABLES.filter((table) => names.includes(table));
  const unknown = names.filter((name) => !EXPORTED_TABLES.some((table) => table === name));
  if (unknown.length > 0)
    throw new ExportRefused(
      `there is no table ${unknown.join(', ')} to export: ${EXPORTED_TABLES.join(', ')}`,
    );
  if (tables.length === 0) throw new ExportRefused(USAGE);
  return tables;
}

main().catch((error: unknown) => {
  process.stderr.write(
    `${process.stdout.isTTY ? '\n' : ''}${error instanceof Error ? error.message : String(error)}\n`,
  );
  const { code } = error as { code?: string };
  const is_refused = error instanceof ExportRefused || code?.startsWith('ERR_PARSE_ARGS') === true;
  process.exitCode = is_refused ? 2 : 1;
});
