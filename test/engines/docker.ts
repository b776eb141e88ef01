import { setTimeout as sleep } from 'node:timers/promises';
import { GenericContainer, getContainerRuntimeClient } from 'testcontainers';
import type { Engine } from './server-process.ts';

const READY_TIMEOUT_MS = 120_000;
const POLL_MS = 100;

interface ContainerOptions {
  image: string;
  /** The server's port inside the container, and the port of this machine that maps to it. */
  port: number;
  host_port: number;
  /** Ports of further listeners. */
  more_ports?: { container: number; host: number }[];
  environment?: Record<string, string>;
  command?: string[];
  ready(): Promise<unknown>;
  /** A program run inside the container once the server answers. */
  after_start?: string[];
}

let answer: Promise<boolean> | undefined;

/** Whether a Docker engine answers. */
export function dockerAnswers(): Promise<boolean> {
  answer ??= getContainerRuntimeClient().then(
    () => true,
    () => false,
  );
  return answer;
}

/** Starts a server in a container. Its host port is fixed, so that its address survives a restart. */
export async function startContainer(options: ContainerOptions): Promise<Engine> {
  const { image, port, host_port, more_ports = [], environment = {}, command, after_start } = options;
  let definition = new GenericContainer(image)
    .withExposedPorts({ container: port, host: host_port }, ...more_ports)
    .withEnvironment(environment)
    .withAutoRemove(false);
  if (command !== undefined) definition = definition.withCommand(command);
  const started = await definition.start();
  const { container } = await getContainerRuntimeClient();
  const handle = container.getById(started.getId());
  const until_ready = async () => {
    for (const deadline_ms = Date.now() + READY_TIMEOUT_MS; ; await sleep(POLL_MS)) {
      try {
        await options.ready();
        return;
      } catch (cause) {
        if (Date.now() > deadline_ms) throw new Error(`${image} does not answer`, { cause });
      }
    }
  };
  await until_ready();
  if (after_start !== undefined) {
    const { exitCode, output } = await started.exec(after_start);
    if (exitCode !== 0) throw new Error(`${after_start[0]} failed in ${image}: ${output}`);
  }
  return {
    async kill() {
      await handle.kill({ signal: 'SIGKILL' });
      await handle.wait({ condition: 'not-running' });
    },
    async restart() {
      await handle.start();
      await until_ready();
    },
    async stop() {
      await started.stop({ remove: true, removeVolumes: true });
    },
  };
}
