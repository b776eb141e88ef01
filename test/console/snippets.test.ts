import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { sdkSnippets } from '../../console/src/screens/developers/snippet-texts.ts';
import { packageRoot } from '../../src/package-root.ts';

// docs/clients.md has the same examples, and a test runs those.

const at = {
  base_url: 'https://api.example',
  ingest_url: 'https://in.example',
  tenant_id: 't',
  project_id: 'p',
};

it('the snippets of the SDK are the examples of docs/clients.md', async () => {
  const page = await readFile(join(packageRoot, 'docs/clients.md'), 'utf8');
  const example = (name: string) => new RegExp(`\`\`\`js ${name}\\n([^]*?)\\n\`\`\``).exec(page)?.[1];
  const text = Object.fromEntries(sdkSnippets(at).map((one) => [one.key, one.text]));
  const named = (snippet = '') =>
    snippet
      .replace(`'${at.ingest_url}'`, 'INGEST_URL')
      .replace(`'${at.base_url}'`, 'BASE_URL')
      .replace(`'CLIENT_KEY'`, 'CLIENT_KEY')
      .replace('process.env.API_KEY', 'API_KEY');
  expect(named(text['page'])).toBe(example('page'));
  expect(named(text['backend'])).toBe(example('backend'));
  const hash = `createHmac('sha256', client_secret).update(external_id).digest('hex')`;
  expect(text['userHash']).toContain(hash);
  expect(page).toContain(hash);
});
