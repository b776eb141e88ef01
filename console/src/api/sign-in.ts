import { askConsole, postConsole } from './client.ts';

/** How users sign in here. */
export interface SignInOptions {
  /** On the service's own machine, without an identity provider: by a link that the service has printed. */
  development: boolean;
  /** By an identity provider, at `/console/auth/login`. */
  provider: boolean;
}

export async function signInOptions(signal: AbortSignal): Promise<SignInOptions> {
  return (await askConsole('GET', '/console/auth/options', { signal })) as SignInOptions;
}

/** How the part of a link behind `#` begins that signs in to a service in development; a token follows. */
const LINK = '#sign-in=';
let link_token: string | undefined;

/**
 * Takes the token of a link that the service has printed out of the address, where it would stay in the history; called
 * when the page is loaded.
 */
export function takeLinkToken(): void {
  if (!location.hash.startsWith(LINK)) return;
  link_token = location.hash.slice(LINK.length);
  history.replaceState(null, '', `${location.pathname}${location.search}`);
}

/** Whether this page was opened by such a link, and has not signed in with it. */
export function hasLinkToken(): boolean {
  return link_token !== undefined;
}

/**
 * Signs in with the token of the link, which counts once, and lets the other windows of this browser know. Rejects with
 * FORBIDDEN when it was used before, and from another machine.
 */
export async function signInByLink(): Promise<void> {
  const token = link_token;
  link_token = undefined;
  await postConsole('/console/auth/dev', { token });
  localStorage.setItem(SIGNED_IN_AT, String(Date.now()));
}

/** The address that begins the sign-in at the identity provider and comes back to this page. */
export function providerUrl(): string {
  return loginUrl(`${location.pathname}${location.search}`);
}

/** Where a sign-in in a window of its own ends. */
const OWN_WINDOW = '#signed-in';
/**
 * In the storage that the windows of this browser share: when a sign-in has ended in a window of its own. That window
 * cannot be asked, because the provider's page cuts it off from ours.
 */
const SIGNED_IN_AT = 'console.signed_in_at';

/** Begins the sign-in in a window of its own, so that this page stays as it is. See {@link onSignIn}. */
export function openSignIn(): void {
  window.open(loginUrl(`/console/${OWN_WINDOW}`), '_blank', 'popup,width=520,height=720');
}

/** Ends the window of {@link openSignIn}; called when the page is loaded, in any window. */
export function closeSignIn(): void {
  if (location.hash !== OWN_WINDOW) return;
  localStorage.setItem(SIGNED_IN_AT, String(Date.now()));
  history.replaceState(null, '', location.pathname);
  // Where the browser does not allow it, the window is a console like any other.
  window.close();
}

/** Calls the listener when somebody has signed in in a window of {@link openSignIn}; returns how to stop that. */
export function onSignIn(listener: () => void): () => void {
  const hear = ({ key }: StorageEvent) => {
    if (key === SIGNED_IN_AT) listener();
  };
  addEventListener('storage', hear);
  return () => removeEventListener('storage', hear);
}

function loginUrl(return_to: string): string {
  return `/console/auth/login?return_to=${encodeURIComponent(return_to)}`;
}

/** Ends the session here and, where there is one, at the identity provider. */
export async function signOut(): Promise<void> {
  const { provider_url } = (await askConsole('POST', '/console/auth/logout')) as {
    provider_url: string | null;
  };
  location.assign(provider_url ?? '/console/');
}
