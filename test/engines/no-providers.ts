/**
 * Environment variables of services whose tests do not fetch rates: no server may listen on this port, and Node refuses
 * to connect to it, so no test sends requests to the internet.
 */
export const NO_PROVIDERS = { FX_FIAT_URL: 'http://127.0.0.1:9', FX_CRYPTO_URL: 'http://127.0.0.1:9' };
