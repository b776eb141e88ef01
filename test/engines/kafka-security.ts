import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from './free-port.ts';

const run = promisify(execFile);

/** TLS listeners of a broker, its certificate, and the user that may authenticate. */
export interface KafkaSecurity {
  /** The broker's self-signed certificate. Together with the key it also serves as a client certificate. */
  cert_file: string;
  key_file: string;
  username: string;
  password: string;
  /** A user of PLAIN that has no rights but those that a test gives it. The other user and open connections have all. */
  limited: { username: string; password: string };
  /** `host:port` of the listener with TLS and SASL, and of the listener with TLS and client certificates. */
  sasl_brokers: string[];
  mutual_brokers: string[];
  listeners: { name: string; port: number; protocol: string }[];
  /** The broker settings for these listeners. */
  settings: Record<string, string>;
}

/** Makes a certificate and a user; writes the PEM files to `dir`. */
export async function newKafkaSecurity(dir: string): Promise<KafkaSecurity> {
  const [cert_file, key_file] = [join(dir, 'kafka.crt'), join(dir, 'kafka.key')];
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const names = ['-subj', '/CN=kafka', '-addext', 'subjectAltName=IP:127.0.0.1'];
  await run('openssl', ['req', ...kind, ...names, '-keyout', key_file, '-out', cert_file]);
  const certificate = await readFile(cert_file, 'utf8');
  const key = await readFile(key_file, 'utf8');
  const [sasl_port, mutual_port] = [await freePort(), await freePort()];
  const username = 'engagement';
  const password = randomUUID();
  const limited = { username: 'limited', password: randomUUID() };
  const scram = 'org.apache.kafka.common.security.scram.ScramLoginModule required;';
  const plain = 'org.apache.kafka.common.security.plain.PlainLoginModule required';
  return {
    cert_file,
    key_file,
    username,
    password,
    limited,
    sasl_brokers: [`127.0.0.1:${sasl_port}`],
    mutual_brokers: [`127.0.0.1:${mutual_port}`],
    // The names differ from the protocols: the image expects key files of its own for listeners named like a protocol.
    listeners: [
      { name: 'SECURE', port: sasl_port, protocol: 'SASL_SSL' },
      { name: 'MUTUAL', port: mutual_port, protocol: 'SSL' },
    ],
    settings: {
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      'super.users': `User:ANONYMOUS;User:CN=kafka;User:${username}`,
      'ssl.keystore.type': 'PEM',
      'ssl.keystore.certificate.chain': certificate,
      'ssl.keystore.key': key,
      'ssl.truststore.type': 'PEM',
      'ssl.truststore.certificates': certificate,
      'listener.name.mutual.ssl.client.auth': 'required',
      'sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512',
      'listener.name.secure.plain.sasl.jaas.config':
        [
          plain,
          ...[{ username, password }, limited].map((user) => `user_${user.username}="${user.password}"`),
        ].join(' ') + ';',
      'listener.name.secure.scram-sha-256.sasl.jaas.config': scram,
      'listener.name.secure.scram-sha-512.sasl.jaas.config': scram,
    },
  };
}
