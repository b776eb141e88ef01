import { eventLogContract } from './event-log.contract.ts';
import { startKafkaLog } from './kafka-log.ts';

eventLogContract('Kafka', startKafkaLog);
