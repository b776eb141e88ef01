import { parseArgs } from 'node:util';
import type { BonusReconcileSummary } from '../src/bonuses/reconcile/reconcile.ts';
import { say } from './say.ts';
import { callInternal, findInternalApi } from './service-api.ts';

const USAGE = `usage: npm run bonus-reconcile -- [--tenant-id <uuid>]

Asks the running service to compare the live bonus grants with their platforms: what has ended there without a webhook
ends here, too. Prints one line of JSON; exit 0 means that everything was compared, nothing differs and every platform
answered. \`incomplete\` counts the platforms of whose grants some were not compared.

The service is the one that DATA_DIR/dev-credentials.json belongs to, unless flags say otherwise:
  --base-url <url>  --internal-secret <secret>`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      'tenant-id': { type: 'string' },
      'base-url': { type: 'string' },
      'internal-secret': { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help === true) return say(USAGE);
  const api = await findInternalApi(values);
  const { data } = await callInternal<{ data: BonusReconcileSummary }>(api, 'bonus-reconcile', {
    method: 'POST',
    body: { tenant_id: values['tenant-id'] },
  });
  const { checked, applied, mismatched, missing, failed, incomplete } = data;
  const summary = { checked, applied, mismatched, missing, failed, incomplete };
  say(JSON.stringify({ event: 'bonus-reconcile-summary', ...summary }));
  if (mismatched + missing + failed + incomplete > 0) process.exitCode = 1;
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
