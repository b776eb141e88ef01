import { call } from './call.ts';

/** How users sign in here. */
export interface SignInOptions {
  /** On the service's own machine, without an identity provider: as the owner of the demo. */
  development: boolean;
  /** By an identity provider, at `/console/auth/login`. */
  provider: boolean;
}

export async function signInOptions(signal: AbortSignal): Promise<SignInOptions> {
  return (await call<SignInOptions>({ path: '/console/auth/options', signal })).data;
}

/** Signs in as the owner of the demo. Rejects with FORBIDDEN from another machine, NOT_FOUND without a demo. */
export async function signInToDemo(): Promise<void> {
  await call({ method: 'POST', path: '/console/auth/dev' });
}

/** The address that begins the sign-in at the identity provider and comes back to this page. */
export function providerUrl(): string {
  const here = `${location.pathname}${location.search}`;
  return `/console/auth/login?return_to=${encodeURIComponent(here)}`;
}

/** Ends the session here and, where there is one, at the identity provider. */
export async function signOut(): Promise<void> {
  const { data } = await call<{ provider_url: string | null }>({
    method: 'POST',
    path: '/console/auth/logout',
  });
  location.assign(data.provider_url ?? '/console/');
}
