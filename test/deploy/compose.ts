import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { packageRoot } from '../../src/package-root.ts';

/** A service of docker-compose.yml that runs the image of this repository. */
export interface ComposeService {
  name: string;
  /** The values as written, including `${NAME:-default}`. */
  environment: Record<string, string>;
  /** `address:host:container` */
  ports: string[];
}

/** What every service of docker-compose.yml says about what its container may do. */
export interface Hardening {
  name: string;
  /** Whether it runs the image of this repository. */
  is_ours: boolean;
  read_only?: boolean;
  cap_drop?: string[];
  cap_add?: string[];
  security_opt?: string[];
  ports?: string[];
  environment?: Record<string, unknown>;
  command?: unknown;
}

/** All services of docker-compose.yml. */
export async function readAllServices(): Promise<Hardening[]> {
  const text = await readFile(join(packageRoot, 'docker-compose.yml'), 'utf8');
  const { services } = parse(text, { merge: true }) as {
    services: Record<string, Omit<Hardening, 'name' | 'is_ours'> & { build?: string }>;
  };
  return Object.entries(services).map(([name, { build, ...rest }]) => ({
    ...rest,
    name,
    is_ours: build !== undefined,
  }));
}

/** The services of docker-compose.yml that run this repository's image, and the comment at its head. */
export async function readCompose(): Promise<{
  head: string;
  services: ComposeService[];
  /** The variables without which compose does not start any of its containers, ours or not. */
  required: string[];
}> {
  const text = await readFile(join(packageRoot, 'docker-compose.yml'), 'utf8');
  const file = parse(text, { merge: true }) as {
    services: Record<string, { build?: string; environment?: Record<string, unknown>; ports?: string[] }>;
  };
  const ours = Object.entries(file.services).filter(([, { build }]) => build !== undefined);
  const services = ours.map(([name, { environment = {}, ports = [] }]) => ({
    name,
    environment: Object.fromEntries(Object.entries(environment).map(([key, value]) => [key, String(value)])),
    ports,
  }));
  const required = [...text.matchAll(/\$\{(\w+):\?/g)].map(([, name = '']) => name);
  return { head: /^(#.*\n)+/.exec(text)?.[0] ?? '', services, required: [...new Set(required)].sort() };
}

/** A variable that compose interpolates: `${name:-fallback}`, or, when required, `${name:?message}`. */
export interface Interpolation {
  name: string;
  required: boolean;
  fallback: string;
}

const INTERPOLATION = /\$\{(\w+):([-?])([^}]*)\}/g;

/** The interpolations in a text. Throws at a `$` of another form. */
export function interpolationsOf(text: string): Interpolation[] {
  if (text.replaceAll(INTERPOLATION, '').includes('$')) throw new Error(`unknown interpolation in ${text}`);
  return [...text.matchAll(INTERPOLATION)].map(([, name = '', kind, rest = '']) => ({
    name,
    required: kind === '?',
    fallback: kind === '?' ? '' : rest,
  }));
}

/** The environment of a container of the service when compose runs with these variables. */
export function environmentOf(
  { environment }: ComposeService,
  given: Record<string, string>,
): Record<string, string> {
  const fill = (text: string) =>
    interpolationsOf(text).reduce((filled, { name, required, fallback }) => {
      const value = given[name];
      if (required && !value) throw new Error(`compose asks for ${name}`);
      return filled.replace(new RegExp(`\\$\\{${name}:[^}]*\\}`), () => value || fallback);
    }, text);
  return Object.fromEntries(Object.entries(environment).map(([key, text]) => [key, fill(text)]));
}
