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

/** The same by the typed client. */
export function clientSnippet({ base_url, ingest_url }: Addresses): string {
  return `import { createClient } from '@player-engagement/client/admin';

const client = createClient({
  base_url: '${base_url}',
  ingest_url: '${ingest_url}',
  token: process.env.API_KEY,
});
await client.players.identify({ external_id: 'crm-42', anonymous_id: 'visitor-7' });
await client.events.send({ event: 'login', anonymous_id: 'visitor-7' });`;
}
