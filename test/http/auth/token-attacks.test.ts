import { KeyObject, sign as signBytes } from 'node:crypto';
import { connect } from 'node:net';
import { exportSPKI, type JWTHeaderParameters } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Answer } from '../../engines/http-client.ts';
import { INTERNAL_SECRET, openFixture, type Fixture, type Tenant } from '../api-fixture.ts';
import {
  AUDIENCE,
  ISSUER,
  newKey,
  signedBy,
  startIdentityProvider,
  tokenOf,
  type IdentityProvider,
  type SigningKey,
} from './identity-provider.ts';

const SESSION_PATH = '/v1/players';
const KEY_PATH = '/v1/me';
const USER = 'idp|attacked';

let provider: IdentityProvider;
/** The attacker's own provider, also the one to which hostile tokens point for keys. */
let stranger: IdentityProvider;
let fixture: Fixture;
let rsa: SigningKey;
let ec: SigningKey;
let foreign: SigningKey;
let tenant: Tenant;
let port: number;

beforeAll(async () => {
  [rsa, ec, foreign] = [await newKey('rsa'), await newKey('ec', 'ES256'), await newKey('rsa')];
  provider = await startIdentityProvider([rsa.jwk, ec.jwk]);
  stranger = await startIdentityProvider([foreign.jwk]);
  fixture = await openFixture({ ...provider.environment, RATE_ADMIN_PER_SECOND: '100000' });
  const body = { name: 'T', base_currency: 'EUR', project_name: 'P', admin_user_id: USER };
  const made = await fixture.internal('/v1/internal/tenants', body);
  const { tenant_id, project_id } = made.body.data as { tenant_id: string; project_id: string };
  const session = await sign();
  const path = `/v1/projects/${project_id}/api-keys`;
  const key = await fixture.as(session, path, { method: 'POST', body: { name: 'k' } });
  tenant = { tenant_id, project_id, session, api_key: String(key.body.data['key']) };
  port = Number(new URL(await fixture.app.listen({ host: '127.0.0.1', port: 0 })).port);
});
afterAll(async () => {
  await fixture.close();
  await Promise.all([provider.close(), stranger.close()]);
});

const sign = (claims: Record<string, unknown> = {}, header: Partial<JWTHeaderParameters> = {}, key = rsa) =>
  signedBy(key, USER, { jti: Math.random(), ...claims }, header);
const now_s = () => Math.floor(Date.now() / 1000);
const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

function expectRefused(answer: Answer, what: string): void {
  expect([answer.status, answer.body.error?.code], what).toEqual([401, 'UNAUTHORIZED']);
  expect(Object.keys(answer.body)).toEqual(['error']);
  expect(answer.body.error.message).toMatch(/\S/);
  expect(answer.headers.get('www-authenticate')).toBe('Bearer');
}

/** Expects a refusal, as a session and as an API key. */
async function refuse(token: string, what = token.slice(0, 80)): Promise<void> {
  expectRefused(await fixture.as(token, SESSION_PATH), what);
  expectRefused(await fixture.as(token, KEY_PATH), what);
}

async function accept(token: string, what = ''): Promise<void> {
  const answer = await fixture.as(token, SESSION_PATH);
  expect(answer.status, what + answer.text).toBe(200);
}

describe('which signatures are valid', () => {
  test('both algorithms of the provider are accepted', async () => {
    await accept(await sign());
    await accept(await sign({}, {}, ec));
    await accept(await sign({ aud: ['another', AUDIENCE] }));
  });

  test('a token without a signature is refused', async () => {
    const [header = '', payload = '', signature = ''] = (await sign()).split('.');
    for (const alg of ['none', 'None', 'NONE', 'nOnE', '', null, undefined, 0, ['RS256'], { RS256: 1 }]) {
      await refuse(`${base64({ alg, kid: 'rsa' })}.${payload}.`, `alg ${JSON.stringify(alg)}`);
      await refuse(`${base64({ alg, kid: 'rsa' })}.${payload}.${signature}`, `alg ${JSON.stringify(alg)}`);
    }
    for (const token of [`${header}.${payload}.`, `${header}.${payload}`, `${header}..${signature}`]) {
      await refuse(token);
    }
  });

  test('the public key is not accepted as a shared secret', async () => {
    for (const key of [rsa, ec]) {
      const pem = await exportSPKI(key.publicKey);
      const { n = '', x = '' } = key.jwk;
      const secrets = [pem, pem.trim(), pem.replaceAll('\n', '\r\n'), JSON.stringify(key.jwk), n + x, ''];
      const bytes = [...secrets.map((text) => Buffer.from(text)), Buffer.from(n + x, 'base64url')];
      for (const secret of bytes.filter(({ length }) => length > 0)) {
        for (const alg of ['HS256', 'HS384', 'HS512']) {
          // Padded, because the signing library wants secrets at least as long as their hash.
          const long = Buffer.concat([secret, Buffer.alloc(Math.max(0, 64 - secret.length))]);
          await refuse(await tokenOf(USER).setProtectedHeader({ alg, kid: key.kid }).sign(long), alg);
        }
      }
    }
  });

  test('a key of another issuer is refused under every key id', async () => {
    for (const kid of ['rsa', 'ec', 'unknown']) await refuse(await sign({}, { kid }, foreign), kid);
    await refuse(await sign({ iss: 'https://stranger.example' }, {}, foreign));
    // One of our keys, under the id or algorithm of another key.
    await refuse(await sign({}, { kid: 'ec' }));
    await refuse(await sign({}, { kid: 'rsa' }, ec));
    await refuse(await sign({}, {}, { ...(await newKey('rsa', 'PS256')), kid: 'rsa' }));
  });

  test('a key that the token contains or points to is ignored', async () => {
    const { jwk } = foreign;
    const chain = [Buffer.from('not a certificate').toString('base64')];
    const brought: Partial<JWTHeaderParameters>[] = [
      { jwk },
      { jku: `${stranger.url}/jku` },
      { x5u: `${stranger.url}/x5u` },
      { x5c: chain },
      { jwk, jku: `${stranger.url}/jku`, x5u: `${stranger.url}/x5u`, x5c: chain },
      { jku: `${provider.url}/jwks@${stranger.url}` },
    ];
    for (const header of brought) {
      for (const kid of ['rsa', 'unknown']) await refuse(await sign({}, { ...header, kid }, foreign));
    }
    expect(stranger.paths).toEqual(new Set());
    expect(provider.paths).toEqual(new Set(['/jwks']));
    // Such a header field does no harm to a token that is otherwise valid.
    await accept(await sign({}, { jwk, jku: `${stranger.url}/jku` }));
    expect(stranger.fetches).toBe(0);
  });

  test('unknown critical header fields are not ignored', async () => {
    // Signed by the provider's own key: only `crit` is wrong.
    const payload = (await sign()).split('.')[1];
    const signed = (header: object) => {
      const text = `${base64(header)}.${payload}`;
      const signature = signBytes('sha256', Buffer.from(text), KeyObject.from(rsa.privateKey));
      return `${text}.${signature.toString('base64url')}`;
    };
    await accept(signed({ alg: 'RS256', kid: 'rsa' }));
    for (const crit of [['exp'], ['b64'], ['http://example.com/x'], [], 'exp', [1], null, ['alg']]) {
      const header = { alg: 'RS256', kid: 'rsa', crit, exp: 1, b64: false, 'http://example.com/x': 1 };
      await refuse(signed(header), `crit ${JSON.stringify(crit)}`);
    }
  });

  test('a key id is used as a name only, never as a path or query', async () => {
    const kids = [
      '../../../../etc/passwd',
      '../../../../../../dev/null',
      "' or '1'='1",
      "rsa'; drop table tenants; --",
      '${jndi:ldap://127.0.0.1/x}',
      '__proto__',
      'constructor',
      '\0',
      ' rsa',
      'RSA',
      'x'.repeat(4_000),
      '',
    ];
    for (const kid of kids) {
      await refuse(await sign({}, { kid }, foreign), kid);
      if (kid !== '') await refuse(await sign({}, { kid }), kid);
    }
    const [, payload, signature] = (await sign()).split('.');
    for (const kid of [{}, [], ['rsa'], 0, true, { toString: 'rsa' }]) {
      await refuse(`${base64({ alg: 'RS256', kid })}.${payload}.${signature}`, JSON.stringify(kid));
    }
  });

  test('a signature of zeros, in another encoding, or of another text is refused', async () => {
    const [header, payload] = (await sign({}, {}, ec)).split('.');
    const forged = [
      Buffer.alloc(64),
      Buffer.alloc(64, 0xff),
      Buffer.from('30060201000201000', 'hex'),
      Buffer.from('3006020100020100', 'hex'),
      Buffer.alloc(63),
      Buffer.alloc(0),
    ];
    for (const bytes of forged) {
      await refuse(`${header}.${payload}.${bytes.toString('base64url')}`, bytes.toString('hex'));
    }
    const other = (await sign({ sub: 'other' }, {}, ec)).split('.')[2];
    await refuse(`${header}.${payload}.${other}`);
    const encrypted = [base64({ alg: 'RSA-OAEP', enc: 'A256GCM' }), 'a', 'b', 'c', 'd'].join('.');
    await refuse(encrypted);
  });
});

describe('which claims a well-signed token must have', () => {
  const bad: [string, () => Record<string, unknown>][] = [
    ['expired long ago', () => ({ exp: 1 })],
    ['expired just now', () => ({ exp: now_s() })],
    ['no expiry', () => ({ exp: undefined })],
    ['an expiry that is no number', () => ({ exp: 'tomorrow' })],
    ['an expiry in a text', () => ({ exp: String(now_s() + 600) })],
    ['a null expiry', () => ({ exp: null })],
    ['an expiry before time', () => ({ exp: -1 })],
    ['valid in a minute', () => ({ nbf: now_s() + 60 })],
    ['valid from a text on', () => ({ nbf: '0' })],
    ['another issuer', () => ({ iss: 'https://login.example.evil' })],
    ['nearly our issuer', () => ({ iss: `${ISSUER}/` })],
    ['several issuers', () => ({ iss: [ISSUER] })],
    ['no issuer', () => ({ iss: undefined })],
    ['another audience', () => ({ aud: 'another-service' })],
    ['other audiences', () => ({ aud: ['one', 'two'] })],
    ['our audience as a key', () => ({ aud: { [AUDIENCE]: 1 } })],
    ['no audience', () => ({ aud: undefined })],
    ['nobody', () => ({ sub: undefined })],
    ['an empty user', () => ({ sub: '' })],
    ['a user with NUL', () => ({ sub: `${USER}\0` })],
    ['a user of 256 characters', () => ({ sub: 'x'.repeat(256) })],
    ['a user that is no text', () => ({ sub: [USER] })],
  ];
  test.each(bad)('%s is refused', async (_what, claims) => {
    await refuse(await sign(claims()));
  });

  test('a user without any membership is forbidden, not unauthorised', async () => {
    for (const sub of ["' or '1'='1", '\ufffd', '%', '*', USER.toUpperCase()]) {
      const answer = await fixture.as(await sign({ sub }), SESSION_PATH);
      expect([answer.status, answer.body.error.code], sub).toEqual([403, 'FORBIDDEN']);
    }
  });

  test('a token with the longest possible lifetime is accepted, and so is one whose nbf is a few seconds ahead', async () => {
    await accept(await sign({ exp: 1e15 }));
    await accept(await sign({ nbf: now_s() + 3 }), 'a provider whose clock is a little ahead');
  });
});

describe('malformed credentials', () => {
  test('texts that are no tokens', async () => {
    const sound = await sign();
    const texts = [
      '.',
      '..',
      '...',
      'a.b.c',
      '{}',
      'null',
      `${sound}.`,
      `.${sound}`,
      `${sound}=`,
      `${sound} ${sound}`,
      sound.replaceAll('.', ','),
      sound.slice(0, -20),
      `"${sound}"`,
      `${sound}\0`,
      `\u{1f511}${sound}`,
      `${base64('text')}.${base64(7)}.x`,
      `${Buffer.from('\ud800').toString('base64url')}.e30.e30`,
      `${Buffer.from(`{"alg":"RS256","kid":${'['.repeat(2_000)}`).toString('base64url')}.e30.e30`,
    ];
    for (const text of texts) await refuse(text);
  });

  test('tokens of 9 KB and of 100 KB', async () => {
    await refuse(await sign({ padding: 'x'.repeat(9_000) }));
    await refuse(await sign({ padding: 'x'.repeat(100_000) }));
    await refuse(await sign({}, { padding: 'x'.repeat(100_000) }));
    await refuse('x'.repeat(100_000));
    await refuse(`svc_pk_dev_${'x'.repeat(100_000)}`);
  });

  test('API keys of every wrong form', async () => {
    const { api_key } = tenant;
    expect((await fixture.as(api_key, KEY_PATH)).status).toBe(200);
    const [, , env = '', id = '', ...rest] = api_key.split('_');
    const secret = rest.join('_');
    const made = (e: string, i: string, s: string, prefix = 'svc_pk') => `${prefix}_${e}_${i}_${s}`;
    const keys = [
      made(env, id, secret, 'svc_sk'),
      made(env, id, secret, 'SVC_PK'),
      made(env, id, secret, 'pk'),
      made('stag', id, secret),
      made('prod', id, secret),
      made('DEV', id, secret),
      made('', id, secret),
      made('test', id, secret),
      made(env, id.slice(1), secret),
      made(env, `${id}a`, secret),
      made(env, id.toUpperCase().replaceAll(/\d/g, 'A'), secret),
      made(env, '________', secret),
      made(env, '00000000', secret),
      made(env, "' or 1=1", secret),
      made(env, id, secret.slice(1)),
      made(env, id, `${secret}a`),
      made(env, id, ''),
      made(env, id, `${secret.slice(0, 43)}=`),
      made(env, id, `${secret.slice(0, 43)}+`),
      made(env, id, `${secret.slice(0, 43)}/`),
      made(env, id, `${secret.slice(0, 43)}\0`),
      made(env, id, `${secret.slice(0, 43)}\u00e9`),
      made(env, id, `${secret.slice(0, 43)}\uff21`),
      made(env, id, 'A'.repeat(44)),
      made(env, id, secret.slice(0, 43) + (secret.endsWith('A') ? 'B' : 'A')),
      `${api_key}\n`,
      `${api_key}\0`,
      `${api_key}_${secret}`,
      api_key.replaceAll('_', '-'),
      made(env, id, secret).replace('svc', '\u0455vc'),
    ];
    for (const key of keys) await refuse(key);
    expect((await fixture.as(api_key, KEY_PATH)).status).toBe(200);
  });

  test('other schemes, and headers without a token', async () => {
    const headers = [
      '',
      'Bearer',
      'Bearer ',
      'Bearer  ',
      'Basic YTpi',
      `Token ${tenant.api_key}`,
      tenant.api_key,
    ];
    for (const path of [SESSION_PATH, KEY_PATH]) {
      for (const authorization of [
        ...headers,
        `Bearer ${tenant.api_key} ${tenant.session}`,
        tenant.session,
      ]) {
        expectRefused(await fixture.call(path, { headers: { authorization } }), authorization);
      }
    }
  });
});

describe('the wrong kind of credential', () => {
  test('is refused, alone and beside another one', async () => {
    const { api_key, session } = tenant;
    const internal = '/v1/internal/reconcile';
    const secret = { 'x-internal-secret': INTERNAL_SECRET };
    const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
    const wrong: [string, Record<string, string>][] = [
      [SESSION_PATH, bearer(api_key)],
      [SESSION_PATH, secret],
      [SESSION_PATH, bearer(INTERNAL_SECRET)],
      [SESSION_PATH, { ...bearer(api_key), ...secret }],
      [KEY_PATH, bearer(session)],
      [KEY_PATH, secret],
      [KEY_PATH, { ...bearer(session), ...secret }],
      [internal, {}],
      [internal, bearer(session)],
      [internal, bearer(api_key)],
      [internal, bearer(INTERNAL_SECRET)],
      [internal, { 'x-internal-secret': '' }],
      [internal, { 'x-internal-secret': `${INTERNAL_SECRET} ` }],
      [internal, { 'x-internal-secret': INTERNAL_SECRET.toUpperCase() }],
      [internal, { 'x-internal-secret': `${INTERNAL_SECRET}, ${INTERNAL_SECRET}` }],
      [internal, { 'x-internal-secret': '\u{1f511}'.repeat(40) }],
      [internal, { 'x-internal-secret': 'x'.repeat(100_000) }],
    ];
    for (const [path, headers] of wrong) {
      const method = path === internal ? 'POST' : 'GET';
      const body = method === 'POST' ? { body: {} } : {};
      expectRefused(
        await fixture.call(path, { method, headers, ...body }),
        JSON.stringify(headers).slice(0, 200),
      );
    }
  });
});

/** Sends the raw request over a socket; returns the status and body of the answer. */
async function raw(path: string, lines: (string | Buffer)[]): Promise<{ status: number; text: string }> {
  const socket = connect({ host: '127.0.0.1', port });
  const parts = [`GET ${path} HTTP/1.1`, 'Host: x', 'Connection: close', ...lines, '', ''];
  socket.write(
    Buffer.concat(
      parts.map((line, i) => Buffer.concat([Buffer.from(i === 0 ? '' : '\r\n'), Buffer.from(line)])),
    ),
  );
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]), text };
}

describe('raw requests over a socket', () => {
  test('a second Authorization header invalidates both, in either order', async () => {
    const { session, api_key } = tenant;
    expect((await raw(SESSION_PATH, [`Authorization: Bearer ${session}`])).status).toBe(200);
    for (const [path, good] of [
      [SESSION_PATH, session],
      [KEY_PATH, api_key],
    ] as const) {
      for (const other of ['Bearer nonsense', `Bearer ${good}`, `Bearer ${api_key}`, 'Basic YTpi', '']) {
        for (const pair of [
          [`Bearer ${good}`, other],
          [other, `Bearer ${good}`],
        ]) {
          const lines = pair.map((value, i) => `${i === 0 ? 'Authorization' : 'authorization'}: ${value}`);
          const { status, text } = await raw(path, lines);
          expect(status, lines.join(' / ')).toBe(401);
          expect(text).toContain('"code":"UNAUTHORIZED"');
        }
      }
    }
  });

  test('headers that are too large or not valid text are refused before a handler reads them', async () => {
    const large = await raw(SESSION_PATH, [`Authorization: Bearer ${'x'.repeat(100_000)}`]);
    expect(large.status).toBe(431);
    const nul = await raw(SESSION_PATH, [Buffer.from('Authorization: Bearer a\0b')]);
    expect(nul.status).toBe(400);
    for (const { text } of [large, nul]) expect(text).toContain('{"error":{"code":"');
    for (const bytes of [[0xff, 0xfe], [0xc3, 0xa9], [0xf0, 0x9f, 0x94, 0x91], [0x80]]) {
      const line = Buffer.concat([Buffer.from('Authorization: Bearer '), Buffer.from(bytes)]);
      expect((await raw(KEY_PATH, [line])).status).toBe(401);
      expect((await raw(SESSION_PATH, [line])).status).toBe(401);
    }
  });
});
