import { LogMisconfigured } from './port.ts';

const CREDENTIALS = 'KAFKA_SASL_USERNAME, KAFKA_SASL_PASSWORD and KAFKA_SASL_MECHANISM';
const CLIENT_CERTIFICATE =
  'Kafka wants a client certificate that it trusts: give KAFKA_CERT_FILE and KAFKA_KEY_FILE, signed by an authority in ' +
  'the truststore of the brokers';

/** Codes of Node's and OpenSSL's errors for a certificate that no trusted authority has signed. */
const UNTRUSTED = new Set([
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** What to do about an error caused by the settings, by its code in Node and OpenSSL or its type in Kafka. */
const ADVICE: Record<string, string> = {
  CERT_HAS_EXPIRED: 'renew the certificate of the Kafka brokers: it has expired',
  CERT_NOT_YET_VALID: 'the certificate of the Kafka brokers is not valid yet: check the clocks',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'the certificate of the Kafka brokers does not name the host they are reached at: name them in KAFKA_BROKERS and ' +
    'advertised.listeners as the certificate does',
  ERR_SSL_WRONG_VERSION_NUMBER:
    'Kafka does not speak TLS on this port: remove KAFKA_TLS, or give the port of its TLS listener in KAFKA_BROKERS',
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: CLIENT_CERTIFICATE,
  ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE: CLIENT_CERTIFICATE,
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN: CLIENT_CERTIFICATE,
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: CLIENT_CERTIFICATE,
  SASL_AUTHENTICATION_FAILED: `Kafka refused the user or the password: check ${CREDENTIALS}`,
  UNSUPPORTED_SASL_MECHANISM: 'Kafka does not offer this mechanism on this port: check KAFKA_SASL_MECHANISM',
  GROUP_COORDINATOR_NOT_FOUND:
    'Kafka names no coordinator of the consumer group: give the user the rights on groups that docs/kafka.md lists, or ' +
    'repair the topic __consumer_offsets if it is not available',
  ILLEGAL_SASL_STATE:
    'Kafka asks for no user on this port: remove KAFKA_SASL_*, or give the port of its SASL listener in KAFKA_BROKERS',
};

/** The part of Kafka's name of a refusal → what the user has no right on, as docs/kafka.md names it. */
const PROTECTED: Record<string, string> = {
  TOPIC: 'topics',
  GROUP: 'groups',
  CLUSTER: 'topics (Create) or on the cluster',
};

/**
 * Names of kafkajs's errors that have no code of their own. kafkajs reports a group on which the user has no right as a
 * coordinator that was not found.
 */
const REASONS: Record<string, string> = {
  KafkaJSSASLAuthenticationError: 'SASL_AUTHENTICATION_FAILED',
  KafkaJSGroupCoordinatorNotFound: 'GROUP_COORDINATOR_NOT_FOUND',
};

/** An error that says what the operator should do about `error`; undefined when no setting is known to cause it. */
export function misconfigurationOf(error: unknown): LogMisconfigured | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof LogMisconfigured) return cause;
    const { name, code, type, errors } = cause as Error & {
      code?: unknown;
      type?: unknown;
      errors?: unknown;
    };
    const reason = REASONS[name] ?? String(type ?? code);
    const advice = adviceOn(reason);
    // `cause` is not passed on: nothing guarantees that the library's message about a failed sign-in holds no secret.
    if (advice !== undefined) return new LogMisconfigured(`${advice} (${reason})`);
    // The parts of a KafkaJSAggregateError, which have no causes in common.
    for (const part of Array.isArray(errors) ? (errors as unknown[]) : []) {
      const misconfigured = misconfigurationOf(part);
      if (misconfigured !== undefined) return misconfigured;
    }
  }
  return undefined;
}

/** Whether `error` can also have a passing reason: Kafka creates or moves the coordinators of all groups. */
export function mayPass(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause.name === 'KafkaJSGroupCoordinatorNotFound') return true;
  }
  return false;
}

function adviceOn(reason: string): string | undefined {
  if (UNTRUSTED.has(reason)) {
    return 'the certificate of the Kafka brokers is not trusted: give the certificate of its authority in KAFKA_CA_FILE';
  }
  const [, resource = ''] = /^(\w+)_AUTHORIZATION_FAILED$/.exec(reason) ?? [];
  if (resource !== '') {
    const place = PROTECTED[resource] ?? 'topics, groups and the cluster';
    return `KAFKA_SASL_USERNAME or the client certificate has too few rights: give it those on ${place} (docs/kafka.md)`;
  }
  return ADVICE[reason];
}
