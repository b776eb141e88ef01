import { eventLogContract } from './event-log.contract.ts';
import { startEmbeddedLog } from './embedded-log.ts';

eventLogContract('a table in the embedded Postgres', startEmbeddedLog);
