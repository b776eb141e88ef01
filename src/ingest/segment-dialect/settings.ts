/** Where pages reach the ingestion host: `host` with its port, without a path. */
export interface PublicHost {
  protocol: 'http' | 'https';
  host: string;
}

/**
 * What analytics.js asks for before its first call. With `apiHost` and `protocol` it sends to this host; without them it would
 * send to Segment's.
 */
export function settingsOf(api_key: string, { protocol, host }: PublicHost): unknown {
  return {
    integrations: { 'Segment.io': { apiKey: api_key, apiHost: `${host}/v1`, protocol } },
    plan: { track: { __default: { enabled: true, integrations: {} } } },
    metrics: { sampleRate: 0 },
    middlewareSettings: {},
    enabledMiddleware: {},
    remotePlugins: [],
    legacyVideoPluginsEnabled: false,
  };
}
