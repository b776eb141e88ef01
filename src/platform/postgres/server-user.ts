import { execFile } from 'node:child_process';
import { chmod, chown, stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { StartupError } from '../startup-error.ts';

const run = promisify(execFile);
const NAME = 'postgres';
const MAY_ENTER = 0o011;

/** The user that runs an embedded server, as options for `spawn`; empty means the user of this process. */
export interface ServerUser {
  uid?: number;
  gid?: number;
}

/** The user of the embedded server cannot enter a folder that it needs; `message` says what to do. */
export class FolderUnreachable extends StartupError {
  override readonly name = 'FolderUnreachable';
}

/** Postgres refuses to run as root. When this process is root, the server runs as `postgres`, created if missing. */
export async function findServerUser(): Promise<ServerUser> {
  if (!isRoot()) return {};
  try {
    return await idsOf(NAME);
  } catch {
    await run('useradd', ['--system', '--user-group', '--no-create-home', NAME]);
    return await idsOf(NAME);
  }
}

async function idsOf(name: string): Promise<ServerUser> {
  const { stdout } = await run('id', [name]);
  const [, uid, gid] = /^uid=(\d+)\S* gid=(\d+)/.exec(stdout) ?? [];
  if (uid === undefined || gid === undefined) throw new Error(`id says of ${name}: ${stdout}`);
  return { uid: Number(uid), gid: Number(gid) };
}

/** Makes the server's user the owner of `path`. */
export async function changeOwner(path: string, user: ServerUser): Promise<void> {
  if (user.uid !== undefined && user.gid !== undefined) await chown(path, user.uid, user.gid);
}

/** Lets the server's user pass through `folder` to a folder below it. That user still cannot list `folder`. */
export async function makeTraversable(folder: string): Promise<void> {
  if (!isRoot()) return;
  const { mode } = await stat(folder);
  if ((mode & MAY_ENTER) !== MAY_ENTER) await chmod(folder, (mode & 0o7777) | MAY_ENTER);
}

/** Rejects with {@link FolderUnreachable} when the server's user cannot enter (or execute) one of `paths`. */
export async function checkReachable(user: ServerUser, paths: readonly string[]): Promise<void> {
  if (user.uid === undefined || (await mayEnter(user, paths))) return;
  for (const path of paths) {
    for (const folder of ways(path)) {
      if (await mayEnter(user, [folder])) continue;
      throw new FolderUnreachable(
        `Postgres does not run as root, and the user "${NAME}" it runs as cannot enter ${folder}: ` +
          `allow it (chmod o+x ${folder}), move ${path} elsewhere, or start the service as another user`,
      );
    }
  }
}

/** Whether the user can enter (or execute) all `paths`. Runs a command as that user: file modes do not show access lists. */
async function mayEnter(user: ServerUser, paths: readonly string[]): Promise<boolean> {
  try {
    await run(
      'test',
      paths.flatMap((path, i) => (i === 0 ? ['-x', path] : ['-a', '-x', path])),
      {
        ...user,
        cwd: '/',
      },
    );
    return true;
  } catch (error) {
    // 1: `test` ran and said no. On a machine without this command, Postgres itself reports the problem.
    return (error as { code?: unknown }).code !== 1;
  }
}

/** The path and its parent folders, outermost first. */
function ways(path: string): string[] {
  const parent = dirname(path);
  return parent === path ? [path] : [...ways(parent), path];
}

function isRoot(): boolean {
  return userInfo().uid === 0;
}
