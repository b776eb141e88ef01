import { boundedLogContract } from './bounded-log.contract.ts';
import { startEmbeddedLog } from './embedded-log.ts';

boundedLogContract('a table in the embedded Postgres', startEmbeddedLog);
