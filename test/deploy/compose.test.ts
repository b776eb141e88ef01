import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ENVIRONMENT_VARIABLES, readConfig, ROLES } from '../../src/config.ts';
import { packageRoot } from '../../src/package-root.ts';
import { environmentOf, interpolationsOf, readCompose, type ComposeService } from './compose.ts';
import { parseEnv, readDockerfile } from './dockerfile.ts';

// What a deployment is given, and what the service reads: docker-compose.yml, the image and the hosted workflow against
// src/config.ts, in both directions.

/** Read by Node itself. */
const OF_NODE = ['NODE_ENV', 'NODE_OPTIONS'];

/** Set by the image, for every container. */
const OF_THE_IMAGE = ['HOST'];

/** Variables of the service that compose does not pass on, with the reason. */
const NOT_IN_COMPOSE: Record<string, string> = {
  HOST: 'the image sets it',
  PORT: 'containers keep the default; `ports` says where the host publishes it',
  INGEST_PORT: 'the same',
  DATA_DIR: 'the image has the folder, and with all secrets given nothing has to stay in it',
};

/** Variables that only some services are given: the others do not read them. */
const ONLY_FOR: Record<string, string[]> = {
  AUTH_JWKS_URL: ['api'],
  AUTH_ISSUER: ['api'],
  AUTH_AUDIENCE: ['api'],
};

let head: string;
let services: ComposeService[];
let workflow: Record<string, string>;
let image: Record<string, string>;
beforeAll(async () => {
  ({ head, services } = await readCompose());
  const file = await readFile(join(packageRoot, '.github', 'workflows', 'ci.yml'), 'utf8');
  workflow = (parse(file) as { jobs: { image: { env: Record<string, string> } } }).jobs.image.env;
  const steps = await readDockerfile();
  image = Object.assign({}, ...steps.filter(({ name }) => name === 'ENV').map(({ text }) => parseEnv(text)));
});

const required = () => {
  const all = services.flatMap(({ environment }) => Object.values(environment).flatMap(interpolationsOf));
  return [...new Set(all.filter((one) => one.required).map(({ name }) => name))].sort();
};

describe('docker-compose.yml and src/config.ts', () => {
  it('every role has a service of its name', () => {
    for (const { name, environment } of services) expect(environment['ROLES']).toBe(name);
    expect(services.map(({ name }) => name).sort()).toEqual([...ROLES].sort());
  });

  it('every variable that a service is given is one that the service reads', () => {
    const known = new Set([...ENVIRONMENT_VARIABLES, ...OF_NODE]);
    for (const { name, environment } of services) {
      const unknown = Object.keys(environment).filter((variable) => !known.has(variable));
      expect([name, unknown]).toEqual([name, []]);
    }
    expect(Object.keys(image).filter((variable) => !known.has(variable))).toEqual([]);
    expect(Object.keys(image).filter((variable) => !OF_NODE.includes(variable))).toEqual(OF_THE_IMAGE);
  });

  it('every variable that the service reads can be given, or the reason is known', () => {
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

  it('passes each variable on under its own name', () => {
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
    expect(published['api']).toEqual([`\${PORT:-${port}}:${port}`]);
    expect(published['intake']).toEqual([`\${INGEST_PORT:-${ingest_port}}:${ingest_port}`]);
  });
});

describe('what compose asks for', () => {
  it('the comment at its head names', () => {
    expect(required().length).toBeGreaterThan(5);
    const named = new Set(head.match(/\b[A-Z]+(_[A-Z]+)+\b/g));
    expect([...named].sort()).toEqual(required());
  });

  it('the hosted workflow sets, and nothing else', () => {
    expect(Object.keys(workflow).sort()).toEqual(required());
  });

  it('makes a configuration of every service, with the values of the workflow', () => {
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
