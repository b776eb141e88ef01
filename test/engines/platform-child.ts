import { startFakePlatform } from '../bonuses/fake-platform.ts';

/** Runs only a fake casino platform, whose ledger outlives the service that a test kills; it prints its URL. */
const { url } = await startFakePlatform(JSON.parse(process.env['PLATFORM_SECRETS'] ?? '[]') as string[]);
process.stdout.write(`${url}\n`);
