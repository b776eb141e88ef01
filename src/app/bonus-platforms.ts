import type { Platforms } from '../adapters/platforms.ts';
import type { Config } from '../config.ts';
import { loadCredentialsKeys } from '../engage/providers/credentials.ts';
import type { Notifications } from '../platform/postgres/notifications.ts';
import type { Platform } from '../platform/platform.ts';

/** Opens the platforms of this process at the first call; all callers share them, because they hold the limits of calls. */
export type OpenPlatforms = () => Promise<Platforms>;

/** Creates the {@link OpenPlatforms} of a process. The code is loaded by the first call. */
export function platformsOpener(
  config: Config,
  platform: Platform,
  notifications: Notifications,
): OpenPlatforms {
  let opened: Promise<Platforms> | undefined;
  const open = async () => {
    const { openPlatforms } = await import('../adapters/platforms.ts');
    const credentials_keys = await loadCredentialsKeys(config);
    return openPlatforms({ ...platform, credentials_keys }, notifications);
  };
  return () => (opened ??= open());
}
