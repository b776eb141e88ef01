import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { ConfigError, type KafkaTlsFiles } from '../../config.ts';
import type { KafkaConnection } from '../../platform/event-log/kafka-client.ts';

/** Reads the PEM files. Rejects with ConfigError, which names the variable, when a file is unreadable or invalid. */
export async function readKafkaTls(files: KafkaTlsFiles | undefined): Promise<KafkaConnection['tls']> {
  if (files === undefined) return undefined;
  const { ca_file, client } = files;
  const ca = ca_file === undefined ? undefined : await readPem('KAFKA_CA_FILE', ca_file);
  if (ca !== undefined) {
    use('KAFKA_CA_FILE holds no certificate in PEM', () => new X509Certificate(ca));
  }
  if (client === undefined) return { ca };
  const cert = await readPem('KAFKA_CERT_FILE', client.cert_file);
  const key = await readPem('KAFKA_KEY_FILE', client.key_file);
  use(
    'KAFKA_CERT_FILE and KAFKA_KEY_FILE are not a certificate and its key, without a password, in PEM',
    () => createSecureContext({ cert, key }),
  );
  return { ca, cert, key };
}

async function readPem(variable: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    const { code } = cause as { code?: string };
    throw new ConfigError(`${variable}: cannot read ${path} (${code ?? 'unknown error'})`, { cause });
  }
}

/** Runs `parse`; throws ConfigError with the message `problem` when it throws. */
function use(problem: string, parse: () => unknown): void {
  try {
    parse();
  } catch (cause) {
    throw new ConfigError(problem, { cause });
  }
}
