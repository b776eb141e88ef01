/**
 * Environment variables of services whose tests are not about fetching rates: nobody may answer there, and Node refuses
 * to connect to that port at all, so no test asks the internet.
 */
export const NO_PROVIDERS = { FX_FIAT_URL: 'http://127.0.0.1:9', FX_CRYPTO_URL: 'http://127.0.0.1:9' };
