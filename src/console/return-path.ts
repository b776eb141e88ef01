const HOME = '/console/';
const MAX_LENGTH = 1_000;
/** Stands for this host while a path is resolved; reserved, so that no other URL has it. */
const HERE = 'http://console.invalid';

/**
 * Where a sign-in leads: the given path in one spelling if it is a page of the console, else the console's first page. So
 * no link of ours sends users to another host or path, however it is written.
 */
export function returnPath(given: string | undefined): string {
  if (given === undefined || given.length > MAX_LENGTH) return HOME;
  // Browsers read a backslash as a slash, and drop tabs and line ends.
  if (!given.startsWith(HOME) || !/^[!-~]+$/.test(given) || given.includes('\\')) return HOME;
  const url = URL.canParse(given, HERE) ? new URL(given, HERE) : undefined;
  if (url === undefined || url.origin !== HERE) return HOME;
  const { pathname, search, hash } = url;
  const is_page = pathname.startsWith(HOME) && !pathname.startsWith(`${HOME}auth/`);
  // A proxy may decode the path once more.
  return is_page && !/%(2f|5c|2e|25)/i.test(pathname) ? `${pathname}${search}${hash}` : HOME;
}
