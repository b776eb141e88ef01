import { execFile } from 'node:child_process';
import { chmod, chown, stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { StartupError } from '../startup-error.ts';

const run = promisify(execFile);
const NAME = 'postgres';
const MAY_ENTER = 0o011;

/** Who an embedded server runs as: empty for the user of this process, else what `spawn` takes. */
export interface ServerUser {
  uid?: number;
  gid?: number;
}

/** The user of the embedded server cannot get to a folder it needs; `message` says what to do. */
export class FolderUnreachable extends StartupError {
  override readonly name = 'FolderUnreachable';
}

/** Postgres refuses to run as root: there it runs as the user `postgres`, made when there is none. */
export async function findServerUser(): Promise<ServerUser> {
  if (!isRoot()) return {};
  const id = async (flag: string) => Number((await run('id', [flag, NAME])).stdout);
  try {
    return { uid: await id('-u'), gid: await id('-g') };
  } catch {
    await run('useradd', ['--system', '--user-group', '--no-create-home', NAME]);
    return { uid: await id('-u'), gid: await id('-g') };
  }
}

/** Makes the server's user the owner of `path`. */
export async function changeOwner(path: string, user: ServerUser): Promise<void> {
  if (user.uid !== undefined && user.gid !== undefined) await chown(path, user.uid, user.gid);
}

/** Lets the server's user pass through a folder of ours on its way to its own; what lies there stays unlisted. */
export async function makeTraversable(folder: string): Promise<void> {
  if (!isRoot()) return;
  const { mode } = await stat(folder);
  if ((mode & MAY_ENTER) !== MAY_ENTER) await chmod(folder, (mode & 0o7777) | MAY_ENTER);
}

/** Rejects with {@link FolderUnreachable} when the server's user cannot enter (or execute) one of `paths`. */
export async function checkReachable(user: ServerUser, paths: readonly string[]): Promise<void> {
  if (user.uid === undefined) return;
  for (const path of paths) {
    if (await mayEnter(user, path)) continue;
    for (const folder of ways(path)) {
      if (await mayEnter(user, folder)) continue;
      throw new FolderUnreachable(
        `Postgres does not run as root, and the user "${NAME}" it runs as cannot enter ${folder}: ` +
          `allow it (chmod o+x ${folder}), move ${path} elsewhere, or start the service as another user`,
      );
    }
  }
}

/** Asked of the system as that user: modes alone do not tell of access lists. */
async function mayEnter(user: ServerUser, path: string): Promise<boolean> {
  try {
    await run('test', ['-x', path], { ...user, cwd: '/' });
    return true;
  } catch (error) {
    // A machine without that command leaves it to Postgres to complain.
    return (error as { code?: unknown }).code !== 1;
  }
}

/** The path and the folders it lies in, outermost first. */
function ways(path: string): string[] {
  const parent = dirname(path);
  return parent === path ? [path] : [...ways(parent), path];
}

function isRoot(): boolean {
  return userInfo().uid === 0;
}
