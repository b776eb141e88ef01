import { boundedLogContract } from './bounded-log.contract.ts';
import { startKafkaLog } from './kafka-log.ts';

boundedLogContract('Kafka', startKafkaLog);
