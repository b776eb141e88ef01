/** Where snippets call. */
interface Addresses {
  base_url: string;
  ingest_url: string;
  tenant_id: string;
  project_id: string;
}

/** Calls by curl: who a key is of, a player, an event, and a read with a session. */
export function curlSnippets({ base_url, ingest_url, tenant_id, project_id }: Addresses) {
  return [
    { key: 'check', text: `curl ${base_url}/v1/me -H "Authorization: Bearer $API_KEY"` },
    {
      key: 'identify',
      text: `curl -X POST ${base_url}/v1/players/identify \\
  -H "Authorization: Bearer $API_KEY" -H 'Content-Type: application/json' \\
  -d '{"external_id":"crm-42","anonymous_id":"visitor-7","traits":{"email":"ada@example.com"}}'`,
    },
    {
      key: 'event',
      text: `curl -X POST ${ingest_url}/v1/events \\
  -H "Authorization: Bearer $API_KEY" -H 'Content-Type: application/json' \\
  -d '{"event":"deposit_confirmed","anonymous_id":"visitor-7",
       "properties":{"amount":5000,"currency":"EUR","transaction_id":"deposit-42","payment_method":"card"}}'`,
    },
    {
      key: 'read',
      text: `curl ${base_url}/v1/players?limit=10 -H "Authorization: Bearer $SESSION" \\
  -H 'X-Tenant-Id: ${tenant_id}' -H 'X-Project-Id: ${project_id}'`,
    },
  ] as const;
}

/** The same by the SDK, as docs/clients.md has it: events of a page and of a backend, and the proof of who is signed in. */
export function sdkSnippets({ base_url, ingest_url }: Addresses) {
  return [
    {
      key: 'page',
      text: `import { createClient } from '@player-engagement/client/browser';
const client = createClient({ key: 'CLIENT_KEY', ingest_url: '${ingest_url}', base_url: '${base_url}' });
await client.consent(true);
await client.track('page_view', { path: location.pathname });`,
    },
    {
      key: 'backend',
      text: `import { createClient } from '@player-engagement/client/server';
const client = createClient({ key: process.env.API_KEY, ingest_url: '${ingest_url}', base_url: '${base_url}', spool: 'spool' });
const properties = { amount: 60000, currency: 'EUR', transaction_id: 'psp:1', payment_method: 'card' };
await client.track({ event: 'deposit_confirmed', anonymous_id: 'wallet-42', properties });
await client.close();`,
    },
    {
      key: 'userHash',
      text: `import { createHmac } from 'node:crypto';
const client_secret = process.env.CLIENT_SECRET;
const userHashOf = (external_id) => createHmac('sha256', client_secret).update(external_id).digest('hex');`,
    },
  ] as const;
}
