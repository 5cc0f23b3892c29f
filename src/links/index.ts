export { LinksModule } from './links.module';
