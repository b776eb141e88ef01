import { parseArgs } from 'node:util';
import type { FetchReport } from '../src/ledger/fx/schema.ts';
import { callInternal, findInternalApi } from './service-api.ts';

const USAGE = `usage: npm run --silent fx-fetch -- [--kind fiat|crypto] [--tenant-id <uuid>]

Has the running service fetch exchange rates from their providers now. Prints one JSON line; exit 1 means that a
provider failed (what others gave is stored) or that the service could not be asked; standard error says why.

The service is the one that DATA_DIR/dev-credentials.json belongs to, unless flags say otherwise:
  --base-url <url>  --internal-secret <secret>`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      kind: { type: 'string', multiple: true },
      'tenant-id': { type: 'string' },
      'base-url': { type: 'string' },
      'internal-secret': { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help === true) {
    complain(USAGE);
    return;
  }
  const api = await findInternalApi(values);
  const { data } = await callInternal<{ data: FetchReport }>(api, 'fx-fetch', {
    method: 'POST',
    body: { kinds: values.kind, tenant_id: values['tenant-id'] },
  });
  const { upserted, tenants, failures } = data;
  for (const { message } of failures) complain(message);
  process.stdout.write(`${JSON.stringify({ event: 'fx-fetch-summary', upserted, tenants })}\n`);
  if (failures.length > 0) process.exitCode = 1;
}

function complain(text: string): void {
  process.stderr.write(`${text}\n`);
}

main().catch((error: unknown) => {
  complain(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
});
