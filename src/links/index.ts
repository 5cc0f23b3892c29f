export { ExportLink } from './export-link.entity';
export { LinksModule } from './links.module';
