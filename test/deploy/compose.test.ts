import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import {
  ENVIRONMENT_VARIABLES,
  ERASING_ROLES,
  KEYED_ROLES,
  LIMITING_ROLES,
  readConfig,
  ROLES,
} from '../../src/config.ts';
import { packageRoot } from '../../src/package-root.ts';
import { environmentOf, readAllServices, readCompose, type ComposeService } from './compose.ts';
import { parseEnv, readDockerfile } from './dockerfile.ts';

// Compares the variables of a deployment (docker-compose.yml, the image, the hosted workflow) with the variables that
// src/config.ts reads, in both directions.

/** Variables that Node itself reads. */
const OF_NODE = ['NODE_ENV', 'NODE_OPTIONS'];

/** Variables that the image sets for every container. */
const OF_THE_IMAGE = ['HOST'];

/** Variables of the service that compose does not pass on, with the reason. */
const NOT_IN_COMPOSE: Record<string, string> = {
  HOST: 'the image sets it',
  PORT: 'containers keep the default; `ports` says where the host publishes it',
  INGEST_PORT: 'the same',
  OPS_HOST: 'the address of HOST: no port of it is published',
  DATA_DIR: 'the image has the folder, and with all secrets given nothing has to stay in it',
};

/** Variables that compose passes to some services only, because the others do not read them. */
const ONLY_FOR: Record<string, readonly string[]> = {
  INTERNAL_SECRET: ['api'],
  INTERNAL_SECRET_PREVIOUS: ['api'],
  CREDENTIALS_KEY: KEYED_ROLES,
  CREDENTIALS_KEY_PREVIOUS: KEYED_ROLES,
  ERASURE_KEY: ERASING_ROLES,
  REDIS_URL: LIMITING_ROLES,
  AUTH_JWKS_URL: ['api'],
  AUTH_ISSUER: ['api'],
  AUTH_AUDIENCE: ['api'],
  OIDC_ISSUER: ['api'],
  OIDC_CLIENT_ID: ['api'],
  OIDC_CLIENT_SECRET: ['api'],
};

let head: string;
let services: ComposeService[];
let required: string[];
let workflow: Record<string, string>;
let image: Record<string, string>;
beforeAll(async () => {
  ({ head, services, required } = await readCompose());
  const file = await readFile(join(packageRoot, '.github', 'workflows', 'ci.yml'), 'utf8');
  workflow = (parse(file) as { jobs: { image: { env: Record<string, string> } } }).jobs.image.env;
  const steps = await readDockerfile();
  image = Object.assign({}, ...steps.filter(({ name }) => name === 'ENV').map(({ text }) => parseEnv(text)));
});

describe('docker-compose.yml and src/config.ts', () => {
  it('every role has a service with its name', () => {
    for (const { name, environment } of services) expect(environment['ROLES']).toBe(name);
    expect(services.map(({ name }) => name).sort()).toEqual([...ROLES].sort());
  });

  it('the service reads every variable that compose sets', () => {
    const known = new Set([...ENVIRONMENT_VARIABLES, ...OF_NODE]);
    for (const { name, environment } of services) {
      const unknown = Object.keys(environment).filter((variable) => !known.has(variable));
      expect([name, unknown]).toEqual([name, []]);
    }
    expect(Object.keys(image).filter((variable) => !known.has(variable))).toEqual([]);
    expect(Object.keys(image).filter((variable) => !OF_NODE.includes(variable))).toEqual(OF_THE_IMAGE);
  });

  it('compose can set every variable that the service reads, except the listed ones', () => {
    for (const { name, environment } of services) {
      const expected = ENVIRONMENT_VARIABLES.filter(
        (variable) => !(variable in NOT_IN_COMPOSE) && (ONLY_FOR[variable]?.includes(name) ?? true),
      );
      const given = Object.keys(environment).filter((variable) => !OF_NODE.includes(variable));
      expect([name, given.sort()]).toEqual([name, expected.sort()]);
    }
    const exceptions = [...Object.keys(NOT_IN_COMPOSE), ...Object.keys(ONLY_FOR)];
    expect(exceptions.filter((variable) => !ENVIRONMENT_VARIABLES.includes(variable))).toEqual([]);
  });

  it('passes each variable on under the same name', () => {
    for (const { environment } of services) {
      for (const [variable, text] of Object.entries(environment)) {
        const passed = /^\$\{(\w+):[^}]*\}$/.exec(text)?.[1];
        expect(passed ?? variable).toBe(variable);
      }
    }
  });

  it('publishes the ports that the service listens on', () => {
    const { port, ingest_port } = readConfig({});
    const published = Object.fromEntries(services.map(({ name, ports }) => [name, ports]));
    const bound = '${BIND_ADDRESS:-127.0.0.1}';
    expect(published['api']).toEqual([`${bound}:\${PORT:-${port}}:${port}`]);
    expect(published['intake']).toEqual([`${bound}:\${INGEST_PORT:-${ingest_port}}:${ingest_port}`]);
  });

  it('serves health, metrics and the internal endpoints on a port that is not published', () => {
    const { port, ingest_port } = readConfig({});
    for (const { environment, ports } of services) {
      const ops_port = environment['OPS_PORT'] ?? '';
      expect(Number(ops_port)).toBeGreaterThan(ingest_port);
      expect(ports.filter((one) => one.endsWith(`:${ops_port}`))).toEqual([]);
      expect(
        ports.filter((one) => !(one.endsWith(`:${port}`) || one.endsWith(`:${ingest_port}`))).slice(0, 20),
      ).toEqual([]);
    }
  });
});

describe('the containers of docker-compose.yml', () => {
  it('may do no more than they must, and publish nothing but the two ports of the service', async () => {
    for (const { name, is_ours, ...one } of await readAllServices()) {
      expect([name, one.cap_drop, one.security_opt]).toEqual([name, ['ALL'], ['no-new-privileges:true']]);
      if (is_ours) expect([name, one.read_only, one.cap_add]).toEqual([name, true, undefined]);
      if (!['api', 'intake'].includes(name)) expect([name, one.ports ?? []]).toEqual([name, []]);
    }
  });

  it('let nobody in without a password', async () => {
    const all = new Map((await readAllServices()).map((one) => [one.name, one]));
    const { environment: kafka = {} } = all.get('kafka') ?? {};
    for (const listener of String(kafka['KAFKA_LISTENERS']).split(',')) {
      expect(listener).toMatch(/^CLIENT:|:\/\/localhost:/);
    }
    expect(kafka['KAFKA_LISTENER_SECURITY_PROTOCOL_MAP']).toContain('CLIENT:SASL_PLAINTEXT');
    expect(String(all.get('redis')?.command)).toContain('requirepass');
    expect(all.get('postgres')?.environment?.['POSTGRES_USER']).toBe('postgres');
    const [api] = services.filter(({ name }) => name === 'api');
    for (const url of ['POSTGRES_URL', 'REDIS_URL', 'CLICKHOUSE_URL']) {
      expect(new URL(environmentOf(api!, workflow)[url] ?? '').password, url).toBe('only-for-this-run');
    }
    expect(new URL(environmentOf(api!, workflow)['POSTGRES_URL'] ?? '').username).not.toBe('postgres');
  });
});

describe('the variables that compose requires', () => {
  it('are exactly those that the comment at its head names', () => {
    expect(required.length).toBeGreaterThan(5);
    const named = new Set(head.match(/\b[A-Z]+(_[A-Z]+)+\b/g));
    expect([...named].sort()).toEqual(required);
  });

  it('are exactly those that the hosted workflow sets', () => {
    expect(Object.keys(workflow).sort()).toEqual(required);
  });

  it('give every service a valid configuration, with the values of the workflow', () => {
    for (const service of services) {
      const environment = environmentOf(service, workflow);
      const config = readConfig({ ...image, ...environment });
      expect([...config.roles]).toEqual([service.name]);
      expect(config.servers?.kafka_brokers).toEqual(['kafka:9092']);
      expect(config.identity_provider !== undefined).toBe(service.name === 'api');
    }
    const { CREDENTIALS_KEY: _left_out, ...without } = workflow;
    expect(() => services.map((service) => environmentOf(service, without))).toThrow('CREDENTIALS_KEY');
  });
});
